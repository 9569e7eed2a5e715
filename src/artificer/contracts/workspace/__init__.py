"""Workspaces, the pure part: names, trees as values, grants, and the tools' definitions."""
