"""What every experiment uses: sides, loads, figures, pairs of runs, and bounds that a figure must keep."""
