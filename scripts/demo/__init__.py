"""The demonstration: a side, a configuration, a load, a destination, and the proof that nothing was lost."""
