"""How long a side takes to start."""
