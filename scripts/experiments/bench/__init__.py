"""The chain bench: how fast, how dear, and beside what."""
