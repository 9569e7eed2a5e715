"""The events of a run, for those who watch it: here, in other processes, and later."""
