"""Who calls, what that person or program may do and how often, and the log of what was done."""
