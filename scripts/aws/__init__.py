"""Local endpoints for the stacks."""
