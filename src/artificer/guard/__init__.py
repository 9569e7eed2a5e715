"""Guarded tools: the calls of any program, checked and recorded as those of a run."""
