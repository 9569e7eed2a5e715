"""Guarded tools in the form of other agent libraries, each an extra of its own."""
