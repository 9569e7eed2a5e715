"""Artifacts whose numbers and rows come from recorded results of tools."""
