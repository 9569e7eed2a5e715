"""Notes: the lines of the world's chain that are not records of its runs.

A signal that was posted, a budget that was reserved, settled or corrected, a version of a
workspace: each is written down in the transaction that changes the table it belongs to. The tables
of signals, budgets and versions are caches of the notes, and an audit recomputes them.
"""

from __future__ import annotations

import json
from typing import Annotated, ClassVar, Literal

from artificer.errors import InvalidValueError, TamperedError
from artificer.values.base import Digest, Meta, Value, ValueReader
from artificer.values.canon import canonical, digest_of

Number = Annotated[str, Meta(pattern=r"^[0-9]{1,19}\Z")]
"""A number of a reservation, in decimal: it may be larger than JSON's numbers are exact."""


class ChainingBegan(Value, tag_field="note"):
    """The first note of a world that a release without notes began.

    Notes on what its tables held by then follow it. Records before it may name signals without
    a note.
    """

    note: ClassVar[Literal["chaining_began"]] = "chaining_began"

    @property
    def subject(self) -> str:
        """The key of the thing that the note is about."""
        return "world"


class SignalPosted(Value, tag_field="note"):
    """A signal was posted to a run. ``body`` is the digest of its contents, ``at`` the time."""

    note: ClassVar[Literal["signal_posted"]] = "signal_posted"
    run: str
    n: int
    body: Digest
    at: int = 0

    @property
    def subject(self) -> str:
        """The key of the thing that the note is about."""
        return signals_of(self.run)


class RunImported(Value, tag_field="note"):
    """A run that took ``n`` signals elsewhere is about to be added, up to record ``seq``."""

    note: ClassVar[Literal["run_imported"]] = "run_imported"
    run: str
    n: int
    seq: int
    hash: Digest

    @property
    def subject(self) -> str:
        """The key of the thing that the note is about."""
        return signals_of(self.run)


class BudgetReserved(Value, tag_field="note"):
    """An amount was reserved until a time. What had expired ``at`` that time counts no longer."""

    note: ClassVar[Literal["budget_reserved"]] = "budget_reserved"
    account: str
    reservation: Number
    tokens: int
    micros: int
    at: int
    until: int

    @property
    def subject(self) -> str:
        """The key of the thing that the note is about."""
        return f"reserved {self.account}"


class BudgetSettled(Value, tag_field="note"):
    """A reservation was settled. ``tokens`` and ``micros`` are the account's total after it."""

    note: ClassVar[Literal["budget_settled"]] = "budget_settled"
    account: str
    reservation: Number
    tokens: int
    micros: int

    @property
    def subject(self) -> str:
        """The key of the thing that the note is about."""
        return spent_from(self.account)


class BudgetCorrected(Value, tag_field="note"):
    """A person put an account's total right. ``tokens`` and ``micros`` are the total after it."""

    note: ClassVar[Literal["budget_corrected"]] = "budget_corrected"
    account: str
    tokens: int
    micros: int
    by: str
    reason: str
    at: int

    @property
    def subject(self) -> str:
        """The key of the thing that the note is about."""
        return spent_from(self.account)


class VersionAdded(Value, tag_field="note"):
    """A workspace, or a run's draft of it, got a version."""

    note: ClassVar[Literal["version_added"]] = "version_added"
    run: str
    workspace: str
    number: int
    digest: Digest

    @property
    def subject(self) -> str:
        """The key of the thing that the note is about."""
        return versions_of(self.run, self.workspace)


Note = (
    ChainingBegan
    | SignalPosted
    | RunImported
    | BudgetReserved
    | BudgetSettled
    | BudgetCorrected
    | VersionAdded
)

_notes: ValueReader[Note] = ValueReader(Note, "the note")


def signals_of(run: str) -> str:
    """The subject of the signals of a run."""
    return f"signals {run}"


def spent_from(account: str) -> str:
    """The subject of what an account has spent."""
    return f"spent {account}"


def versions_of(run: str, workspace: str) -> str:
    """The subject of a workspace's versions, or of a run's draft of it."""
    return f"versions {canonical([run, workspace]).decode()}"


def range_of(run: str) -> tuple[str, str]:
    """Between which two texts the subjects are of all workspaces, or of all drafts of a run."""
    first = f"versions {canonical([run]).decode()[:-1]}"
    return f"{first},", f"{first}-"


def workspace_in(subject: str) -> str:
    """The workspace that a subject of versions is about."""
    return str(json.loads(subject.removeprefix("versions "))[1])


def signals_after(note: Note | None) -> int:
    """Return how many signals a run has had after the last note about its signals."""
    return note.n if isinstance(note, (SignalPosted, RunImported)) else 0


def version_after(note: Note | None) -> int:
    """Return the number of a workspace's head after the last note about its versions."""
    return note.number if isinstance(note, VersionAdded) else 0


def read_note(hash_: str, body: bytes) -> Note:
    """Read a note that is to be acted on.

    Raises:
        TamperedError: it is not what was written.
    """
    if digest_of(body) != hash_:
        raise tampered_note()
    try:
        return _notes.read(body)
    except InvalidValueError as error:
        raise tampered_note() from error


def parse_note(body: bytes) -> Note | None:
    """Return a note, or None for bytes that are not one."""
    try:
        return _notes.read(body)
    except InvalidValueError:
        return None


def tampered_note() -> TamperedError:
    """The error for a note that was changed."""
    return TamperedError(
        "A note of the journal does not match its hash.",
        hint="Run `artificer verify` to see what is affected.",
    )
