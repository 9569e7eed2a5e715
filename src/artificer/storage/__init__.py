"""The journal: the append-only, hash-chained log of a world, in memory and in SQLite."""

from artificer.storage.memory.journal import MemoryJournal
from artificer.storage.sqlite.journal import SqliteJournal

__all__ = ["MemoryJournal", "SqliteJournal"]
