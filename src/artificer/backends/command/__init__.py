"""Tools that are command-line programs."""
