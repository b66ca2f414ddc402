"""Two local sides behind one edge: `hifi up --twins`."""
