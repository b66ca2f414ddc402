"""The bench of the chain: lag, losses, CPU and rating, beside a baseline."""
