"""A world's storage in SQLite: one folder, for any number of processes on one machine."""

from artificer.storage.sqlite.budget import SqliteBudget
from artificer.storage.sqlite.journal import SqliteJournal
from artificer.storage.sqlite.signals import SqliteSignals
from artificer.storage.sqlite.snapshots import SqliteSnapshots
from artificer.storage.sqlite.versions import SqliteVersions

__all__ = [
    "SqliteBudget",
    "SqliteJournal",
    "SqliteSignals",
    "SqliteSnapshots",
    "SqliteVersions",
]
