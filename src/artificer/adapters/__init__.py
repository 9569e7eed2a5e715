"""Guarded tools in the form of other agent libraries, each its own extra."""
