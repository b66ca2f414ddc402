"""Queries observe for the command line, and formats its answers."""
