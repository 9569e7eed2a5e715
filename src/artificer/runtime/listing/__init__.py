"""Lists of runs: newest first, by an index, by their words, and as families."""
