"""CloudEvents as clients write them: validated, and read without changing their data. Pure."""
