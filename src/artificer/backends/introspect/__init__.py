"""Introspect tools: what a run may know of itself."""
