"""Session tools: programs that are spoken to line by line."""
