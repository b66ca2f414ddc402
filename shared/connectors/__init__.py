"""Connectors as documents name them: their options. What sends is in pipelines/data/transmit."""
