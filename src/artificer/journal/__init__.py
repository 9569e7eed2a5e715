"""The journal: the append-only, hash-chained log of a world, in memory and in SQLite."""

from artificer.journal.memory import MemoryJournal
from artificer.journal.sqlite import SqliteJournal

__all__ = ["MemoryJournal", "SqliteJournal"]
