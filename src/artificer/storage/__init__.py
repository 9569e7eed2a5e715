"""Everything that a world keeps: in memory, in SQLite, in PostgreSQL, or behind a studio."""
