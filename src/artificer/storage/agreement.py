"""Tables that are caches of notes: what a row says counts only where a note says the same.

The same for every storage; each reads its own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from artificer.errors import TamperedError
from artificer.ports import Amount
from artificer.storage.notes import (
    BudgetCorrected,
    BudgetSettled,
    SignalPosted,
    VersionAdded,
    read_note,
    workspace_in,
)
from artificer.values.canon import digest_of

_REPAIR = (
    "Run `artificer verify` to see what differs; `artificer fsck --repair` restores the table from "
    "the journal."
)


def agreed_total(account: str, row: tuple[int, int] | None, note: object) -> Amount:
    """Return what an account has spent, if its row and its newest note agree.

    Raises:
        TamperedError: they do not.
    """
    noted = (
        (note.tokens, note.micros) if isinstance(note, (BudgetSettled, BudgetCorrected)) else None
    )
    if row != noted:
        raise TamperedError(f"The costs of {account} differ from the journal.", hint=_REPAIR)
    return Amount(*noted) if noted else Amount()


def agreed_version(name: str, row: tuple[int, str] | None, note: object) -> tuple[int, str] | None:
    """Return a version's number and digest, if its row and its note agree.

    Raises:
        TamperedError: they do not.
    """
    noted = (note.number, note.digest) if isinstance(note, VersionAdded) else None
    if row != noted:
        raise _other_versions(name)
    return noted


def agreed_names(rows: Iterable[tuple[str]], subjects: Iterable[tuple[str]]) -> list[str]:
    """Return the workspaces that rows name, in order, if the subjects of notes name the same.

    Raises:
        TamperedError: they do not.
    """
    found = {name for (name,) in rows}
    for name in sorted(found ^ {workspace_in(subject) for (subject,) in subjects}):
        raise _other_versions(name)
    return sorted(found)


def posted_signals(notes: Iterable[tuple[str, bytes]], after: int) -> dict[int, str]:
    """Return the digests of signals with a number greater than ``after``.

    ``notes`` are the hashes and bodies of those about a run's signals, newest first.
    """
    posted: dict[int, str] = {}
    for row in notes:
        note = read_note(*row)
        if not isinstance(note, SignalPosted) or note.n <= after:
            break
        posted[note.n] = note.body
    return posted


def check_posted(
    run: str,
    found: Iterable[tuple[int, bytes]],
    posted: dict[int, str],
    is_pruned: Callable[[], bool],
) -> None:
    """Check that a run's signals are those that were posted. Those of a pruned run are empty.

    Raises:
        TamperedError: one of them is not.
    """
    for n in sorted({n for n, _ in found} ^ posted.keys()):
        raise _other_signal(run, n)
    for n, body in found:
        if digest_of(body) != posted[n] and not (body == b"" and is_pruned()):
            raise _other_signal(run, n)


def _other_versions(name: str) -> TamperedError:
    return TamperedError(
        f"The versions of {name!r} are not those that the journal tells of.", hint=_REPAIR
    )


def _other_signal(run: str, n: int) -> TamperedError:
    return TamperedError(
        f"Signal {n} to run {run} was changed after it was posted; it was ignored.",
        hint="Run `artificer verify` to see what else was changed.",
    )
