"""What commands ask of a local side that runs: where it is, and its documents."""
