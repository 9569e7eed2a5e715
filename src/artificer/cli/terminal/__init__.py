"""Output, questions at a terminal, and exit codes."""
