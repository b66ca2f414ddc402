"""A Spark executor of a local side: it rehearses before it takes tasks."""
