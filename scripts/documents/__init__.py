"""Documents between a user's YAML files and the `config` topic."""
