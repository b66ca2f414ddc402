"""Parts of every experiment: sides, loads, figures, pairs of runs, and bounds of figures."""
