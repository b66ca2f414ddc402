"""Checks of what customers write, the same for the command and the API."""
