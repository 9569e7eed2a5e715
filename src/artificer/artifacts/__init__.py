"""Pure: one file per kind of artifact, placeholders, and the rules of a deliverable."""
