"""Lists of runs: newest first, by an index, and by their words."""
