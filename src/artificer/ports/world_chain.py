"""Optional capabilities of a journal that chains a whole world: records, signals, budgets.

A journal without them can still keep, resume and replay runs, because every run has its own chain.
But nobody can detect that a whole run was removed, or that a signal was changed.
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
        """The number of records and notes up to here."""

    @property
    def world(self) -> str:
        """The hash that covers all of them."""


@runtime_checkable
class Auditable(Protocol):
    """A journal that can check its own tables and the world's chain."""

    async def audit(self) -> list[str]:
        """Return the problems, one sentence each."""

    async def hashes(self, run: str) -> list[str]:
        """The hashes of a run's records, in order, including pruned ones."""

    async def tip(self) -> ChainPosition:
        """The end of the world's chain."""

    async def world_at(self, position: int) -> str | None:
        """The world's hash at a position; None when it does not reach it."""


class SmallBlobs(Protocol):
    """The blobs that a journal keeps itself."""

    def find(self, digest: str) -> bytes | None:
        """Return the bytes, or None if they are not here."""

    def digests(self) -> Iterable[str]:
        """All current digests."""


@runtime_checkable
class Prunable(Protocol):
    """A journal that can remove the contents of records, and blobs, without breaking its chains."""

    @property
    def small(self) -> SmallBlobs:
        """The blobs that it keeps itself."""

    async def position(self) -> int:
        """The number of records in the world."""

    async def erase(self, run: str, epoch: int, upto: int) -> None:
        """Empty the bodies of a run's first records."""

    async def forget(self, digests: Iterable[str], at: int) -> bool:
        """Remove blobs if the world still has this many records; return whether it does."""


@runtime_checkable
class Rebuildable(Protocol):
    """A journal whose tables of budgets and workspaces follow from its chain."""

    async def rebuild(self) -> list[str]:
        """Restore them from the chain, if it is intact; return what was done."""


@runtime_checkable
class Signalled(Protocol):
    """A journal whose chain also contains the signals of its runs."""

    @property
    def signals(self) -> Signals:
        """The signals."""

    async def unsigned(self, run: str) -> int:
        """The last record of a run up to which its signals may be missing here.

        They were read elsewhere, or before signals were chained.
        """

    async def note_import(self, run: str, head: Head, taken: int) -> None:
        """Record that a run is about to be imported up to a head, with signals read elsewhere."""
