"""Tools that are interactive programs, kept open between calls."""
