"""The journal: the append-only, hash-chained log of a world, in memory and in SQLite."""
