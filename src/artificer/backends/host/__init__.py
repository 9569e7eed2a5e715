"""Host tools: one folder of this machine, and no way out of it."""
