"""Pure: one file per kind of artifact, placeholders, and what a deliverable must hold."""
