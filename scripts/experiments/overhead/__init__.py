"""What the meter costs the chain."""
