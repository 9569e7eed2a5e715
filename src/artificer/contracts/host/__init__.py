"""Host tools, the pure part: paths, exact edits, unified diffs, and the tools' definitions."""
