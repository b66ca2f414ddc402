"""The model's answers as text."""
