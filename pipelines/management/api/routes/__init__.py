"""What the API answers, a file for each kind of thing."""
