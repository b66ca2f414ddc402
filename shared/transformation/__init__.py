"""Masks and transforms of pipes, applied to an event. Pure."""
