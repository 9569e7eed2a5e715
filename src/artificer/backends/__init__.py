"""Executors of tools, a package for each kind, and what they share."""
