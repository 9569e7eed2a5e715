"""The workspace tools as declared: edits, paths, versions and definitions."""
