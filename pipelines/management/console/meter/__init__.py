"""The meter: its page, the address of that, and who may see it."""
