"""The next step of a release, given what a look found. Pure."""
