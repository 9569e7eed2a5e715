"""The abilities of a journal that chains a whole world: its records, its signals, its budgets.

Each is optional. A journal without them keeps runs, resumes and replays them: every run has a chain
of its own. But nobody can tell that a run was removed whole, or that a signal was changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from artificer.ports.journal import Head
from artificer.ports.signals import Signals


class ChainPosition(Protocol):
    """A place in the world's chain."""

    @property
    def position(self) -> int:
        """How many records and notes there are up to here."""

    @property
    def world(self) -> str:
        """The hash that covers all of them."""


@runtime_checkable
class Auditable(Protocol):
    """A journal that can check what only it knows: its own tables, and the world's chain."""

    async def audit(self) -> list[str]:
        """Return what is wrong, one sentence each."""

    async def hashes(self, run: str) -> list[str]:
        """The hashes of a run's records, in order; also of those that were pruned."""

    async def tip(self) -> ChainPosition:
        """Where the world's chain ends."""

    async def world_at(self, position: int) -> str | None:
        """The world's hash at a position; None when it does not reach it."""


class SmallBlobs(Protocol):
    """The blobs that a journal keeps itself."""

    def find(self, digest: str) -> bytes | None:
        """The bytes, or None when they are not here."""

    def digests(self) -> Iterable[str]:
        """Every digest, as of now."""


@runtime_checkable
class Prunable(Protocol):
    """A journal that can remove the contents of records, and blobs, without breaking its chains."""

    @property
    def small(self) -> SmallBlobs:
        """The blobs that it keeps itself."""

    async def position(self) -> int:
        """How many records the world has."""

    async def erase(self, run: str, epoch: int, upto: int) -> None:
        """Empty the bodies of a run's first records."""

    async def forget(self, digests: Iterable[str], at: int) -> bool:
        """Remove blobs if the world has still so many records; return whether it has."""


@runtime_checkable
class Rebuildable(Protocol):
    """A journal whose tables of budgets and workspaces follow from its chain."""

    async def rebuild(self) -> list[str]:
        """Put them back as the chain says, if that is whole; return what was done."""


@runtime_checkable
class Signalled(Protocol):
    """A journal that holds the signals of its runs too, in its chain."""

    @property
    def signals(self) -> Signals:
        """The signals."""

    async def unsigned(self, run: str) -> int:
        """The last record of a run whose signals, and those before it, may not be here.

        They were taken elsewhere, or before signals were chained.
        """

    async def note_import(self, run: str, head: Head, taken: int) -> None:
        """Write down that a run is about to be added up to a head, which took signals elsewhere."""
