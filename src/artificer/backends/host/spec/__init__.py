"""The host tools as declared: definitions, edits and patches."""
