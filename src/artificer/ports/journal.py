"""The port to the append-only log of a world: leases, records, heads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct, structs

from artificer.errors import TamperedError
from artificer.ports.budget import Reservation, Settlement
from artificer.values.base import CheckedValue, Value
from artificer.values.canon import digest_of

Durability = Literal["process", "power"]
"""The failures that a commit survives: a process crash, or also a power failure (fsync)."""


class Head(CheckedValue):
    """Where a run's chain of records ends. A run without records is at ``Head()``."""

    seq: int = 0
    hash: str = ""


class Lease(Value):
    """The right to append to a run, until another process acquires it."""

    epoch: int
    head: Head


class Claim(Struct, frozen=True):
    """The owner that acquires a run, and its conditions: compare and set, in one step.

    ``owner`` is recorded with the run until it is released. ``head`` is where the run must end
    (None: anywhere). ``admit`` is called with the run's former owner within that step; if it
    raises, nothing changes. The former owner is ``""`` if the run was released or is new, and None
    if it is unknown, as for a run that an older release acquired.

    ``admit`` returns the owners that may still act, if any, separated by spaces. They are recorded
    too, and passed to the next claim after its former owner, until the run's next record: a
    process that takes a run from them may die before a record accounts for their calls.
    """

    owner: str = ""
    head: Head | None = None
    admit: Callable[[str | None], str | None] = lambda _: None


UNCLAIMED = Claim()
"""Acquires a run without conditions, and names no owner."""


class Record(Struct, frozen=True, gc=False):
    """One line of the journal: ``body`` is canonical JSON and ``hash`` its digest.

    The body names its run, its seq (from 1, without gaps) and the hash of the record before it.
    """

    run: str
    seq: int
    hash: str
    body: bytes


class CheckedRecord(Record, frozen=True, gc=False):
    """A record read by a journal, whose hash was checked against its body.

    So code that follows the chain does not have to hash the body again.
    """

    def __post_init__(self) -> None:
        """Raise TamperedError if the body is not what was written."""
        if digest_of(self.body) != self.hash:
            raise TamperedError(
                f"Record {self.seq} of run {self.run} has a body that does not match its hash.",
                hint="Run `artificer verify` to see what else is affected.",
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and structs.astuple(self) == structs.astuple(other)

    def __hash__(self) -> int:
        return hash(Record(self.run, self.seq, self.hash, self.body))


class NewRecord(CheckedRecord, frozen=True, gc=False):
    """A record that is about to be appended. Its hash is that of its body, whatever it is given."""

    def __post_init__(self) -> None:
        """Set the hash."""
        structs.force_setattr(self, "hash", digest_of(self.body))


class Placed(Struct, frozen=True, gc=False):
    """A record with its position in the world, and the world's hash there."""

    position: int
    world: str
    record: Record


class RunHead(Struct, frozen=True, gc=False):
    """A run that the journal knows."""

    run: str
    epoch: int
    head: Head


class Spending(Struct, frozen=True, gc=False):
    """Changes of budgets that are part of an append. Settlements come before reservations."""

    settlements: Sequence[Settlement] = ()
    reservations: Sequence[Reservation] = ()


NO_SPENDING = Spending()
"""An append that changes no budget."""


class Leases(Protocol):
    """The rights to write to runs: each run has one writer at a time."""

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        """Become the run's only writer, with a new epoch, higher than any before.

        Raises:
            Fenced: the run does not end at the claim's head; nothing has changed.
        """

    async def release(self, run: str, epoch: int) -> None:
        """Release the run. Nothing changes if another process has acquired it since."""


class Journal(Leases, Protocol):
    """The append-only log of a world."""

    def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Awaitable[Head]:
        """Append all records or none, durably and in one commit; return the new head.

        The commit also contains the ``blobs`` that the records cite, and the changes of budgets.

        Raises:
            Fenced: another process acquired the run, or its head is not ``head``.
            BudgetError: a reservation exceeds a limit; nothing was appended.
        """

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        """Return the run's records with ``seq > after``, in order; empty for an unknown run.

        At most ``limit`` records are returned, starting with the first.
        """

    async def runs(self, before: str | None = None, limit: int | None = None) -> list[RunHead]:
        """Return runs, oldest first: every one, or a page of them, without reading their records.

        A page is the newest ``limit`` runs of those that are older than the run ``before``.
        """


@runtime_checkable
class RecordReader(Protocol):
    """A journal that can be read without an event loop, by any thread, even after it is closed."""

    def records(self, run: str) -> list[Record]:
        """Return all records of a run, in order. Raises what ``read`` does."""


@runtime_checkable
class Anchored(Protocol):
    """A journal with an external proof of its length."""

    async def anchor(self) -> None:
        """Make the proof of everything appended durable, before an effect that depends on it.

        Raises:
            OperatorError: it cannot be written. The effect must not start.
        """
