"""What a build does to the world: worktrees, commits, merges, validation, and views for people."""
