"""The versions of workspaces, in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable

from artificer.storage.notes import VersionAdded


class MemoryVersions:
    """`Versions` that die with their process. ``added`` is called with each one before it is."""

    def __init__(self, added: Callable[[VersionAdded], object] = lambda _: None) -> None:
        self._chains: dict[tuple[str, str], list[str]] = {}
        self._lock = threading.Lock()
        self._added = added

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """The newest version's number and digest."""
        chain = self._chains.get((run, name), [])
        return (len(chain), chain[-1]) if chain else None

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """A version's digest."""
        chain = self._chains.get((run, name), [])
        return chain[number - 1] if 1 <= number <= len(chain) else None

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the version after the head; False unless its number is the next."""
        with self._lock:
            if number != len(self._chains.get((run, name), [])) + 1:
                return False
            self._added(VersionAdded(run=run, workspace=name, number=number, digest=digest))
            self._chains.setdefault((run, name), []).append(digest)
            return True

    def names(self, run: str = "") -> list[str]:
        """Every name, in order."""
        return sorted(name for owner, name in list(self._chains) if owner == run)

    def rows(self) -> list[tuple[str, str, int, str]]:
        """Every version: its run, workspace, number and digest."""
        return [
            (run, name, number, digest)
            for (run, name), chain in self._chains.items()
            for number, digest in enumerate(chain, 1)
        ]
