"""Whether a version does as well as the other side, by exact tests. Pure."""
