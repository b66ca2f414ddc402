"""How late events are when a Spark driver is killed, suspended or restarted, with and without a standby."""
