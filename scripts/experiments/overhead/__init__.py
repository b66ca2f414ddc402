"""Measures the cost of the meter."""
