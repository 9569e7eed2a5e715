"""The impure half of builds: worktrees, commits, merges, validation and promotion."""
