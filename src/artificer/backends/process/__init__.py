"""Starting programs: limits, captured output, and an end for everything that was started."""
