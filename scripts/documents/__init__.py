"""Documents: from a user's YAML files to the `config` topic, and back."""
