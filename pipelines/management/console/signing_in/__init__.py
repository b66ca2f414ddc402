"""How a person becomes one who is signed in, and what a page does without."""
