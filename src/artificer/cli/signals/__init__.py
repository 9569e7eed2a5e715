"""Commands that send a run a signal."""
