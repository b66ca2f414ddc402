"""`hifi demo`: documents, a load and a destination, and the proof that nothing was lost."""
