"""The commands' access to a local side that runs: where it is, and its documents."""
