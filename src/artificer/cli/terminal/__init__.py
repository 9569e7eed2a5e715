"""Writing to a terminal, and exit codes."""
