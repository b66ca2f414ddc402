"""What observe knows, asked from the command line."""
