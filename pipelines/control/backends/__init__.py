"""Places where the deployer's two sides run, and what such places share."""
