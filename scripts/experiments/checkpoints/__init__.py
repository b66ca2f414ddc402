"""Measures what the end of a batch costs when the checkpoint is on S3."""
