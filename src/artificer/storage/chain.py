"""The hash chains of a journal: each run's own, and the one over the whole world.

A record's body names the hash of the record before it in its run. Each record also has a
*world* hash, over the world hash before it in commit order: a run that is removed whole, or records
put into another order, leave every run's own chain intact and show only there.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import MsgspecError, Struct, json

from artificer.core.tombstone import tombstone
from artificer.errors import (
    CanonicalError,
    Fenced,
    InvariantError,
    NotFoundError,
    OperatorError,
    TamperedError,
)
from artificer.ports import MAX_SIGNALS, CheckedRecord, Claim, Head, Record, RunHead
from artificer.values.arguments import instance
from artificer.values.canon import canonical, digest, digest_of

FORMAT = 2
"""Version of what is stored: the columns, the members of a body that link it, and the seals.

With 2 came notes. A journal of format 1 becomes one of format 2 when it is opened for writing.
"""


def genesis(format_version: int, release: str) -> str:
    """Return the world hash before the first record: it binds what the journal says of itself.

    ``format_version`` is the format that the journal began with.
    """
    return digest({"format": format_version, "release": release})


def next_world(world: str, record_hash: str) -> str:
    """Return the world hash after a record."""
    return digest_of(f"{world} {record_hash}".encode())


def run_seal(number: int, run: str, epoch: int) -> str:
    """Return the digest that binds what no record's hash covers: a run's number and its epoch."""
    return digest([number, run, epoch])


def is_sealed(number: int, run: str, epoch: int, seal: str) -> bool:
    """Whether a seal is that of a run's number and epoch."""
    try:
        return seal == run_seal(number, run, epoch)
    except CanonicalError:  # a number that no journal of ours holds
        return False


def check_seal(number: int, run: str, epoch: int, seal: str) -> None:
    """Check a run's seal before a new one replaces it: that one would hide a changed row.

    Raises:
        TamperedError: it does not match.
    """
    if not is_sealed(number, run, epoch, seal):
        raise TamperedError(
            f"Run {run} has a seal that does not match its number and epoch {epoch}: its row was "
            "changed after it was written.",
            hint="Nothing was changed. Run `artificer verify` to see the damage; restore the "
            "journal from a backup.",
        )


def check_name(run: str) -> None:
    """Refuse a run id that cannot be stored as text.

    Raises:
        AuthorError: it is not a text.
        CanonicalError: it holds a lone surrogate, as a command line that is not UTF-8 does.
    """
    instance("run", run, str, "Pass the id of a run: run.id.")
    canonical(run)


def verify_link(run: str, head: Head, records: Sequence[Record]) -> Head:
    """Check that the records continue the run's chain from ``head``, and return the new head.

    Every body is parsed as far as it names its place: cheaper checks would have to guess where a
    member begins.

    Raises:
        InvariantError: a record names another run, leaves a gap, does not name the hash before
            it, or its hash is not its body's.
    """
    seq, prev = head.seq, head.hash
    for record in records:
        seq += 1
        if record.run != run or record.seq != seq:
            raise _broken(run, seq, f"is numbered {record.seq} of run {record.run}")
        if not isinstance(record, CheckedRecord) and record.hash != digest_of(record.body):
            raise _broken(run, seq, "has a hash that is not its body's")
        if (named := place_named(record.body)) != (run, seq, prev):
            raise _broken(run, seq, f"names run, seq and prev as {named} in its body")
        prev = record.hash
    return Head(seq=seq, hash=prev)


class _Place(Struct):
    run: str
    seq: int
    prev: str


_read_place = json.Decoder(_Place).decode


def place_named(body: bytes) -> tuple[str, int, str] | None:
    """Return the run, the seq and the hash before, as a body names them; None when it does not."""
    try:
        place = _read_place(body)
    except (MsgspecError, UnicodeError, RecursionError):
        return None
    return place.run, place.seq, place.prev


def fenced(run: str, epoch: int, head: Head, found: RunHead | None) -> Fenced:
    """Return the error for an append at ``epoch`` and ``head`` to a run ``found`` elsewhere."""
    if found is None:
        reason = "it was never acquired"
    elif found.epoch != epoch:
        reason = f"it was acquired again: its epoch is {found.epoch}, not {epoch}"
    else:
        reason = f"its head is at seq {found.head.seq}, and not at this seq {head.seq}"
    return Fenced(
        f"Run {run} rejected a record of this process: {reason}.",
        hint=f"It was taken over or ended, here or in another process: artificer explain {run}",
    )


def claimed(run: str, claim: Claim, head: Head, owners: str | None) -> str:
    """Check that a claim holds for a run that ends at ``head``; return its owners from now on.

    These are a text: the present owner, then those that may still act, each with the record at
    which it lost the run. None stands for owners that nobody knows.

    Raises:
        Fenced: the run ends elsewhere. And whatever the claim itself raises.
    """
    former = None if owners is None else " ".join(_still_named(owners, head.seq)).strip()
    doubtful = (claim.admit(former) or "").split()
    if claim.head is not None and claim.head != head:
        raise Fenced(
            f"Run {run} changed while it was being read: another process executes it.",
            hint=f"To see its status: artificer explain {run}",
        )
    return " ".join([claim.owner, *(f"{name}@{head.seq}" for name in doubtful)])


def released(owners: str, seq: int) -> str:
    """The owners of a run that ends at a record, when its present owner has let go of it."""
    return " ".join(["", *(f"{name}@{seq}" for name in _still_named(owners, seq)[1:])])


def _still_named(owners: str, seq: int) -> list[str]:
    """The present owner, and those that lost the run at its last record: later ones settle it."""
    owner, *doubtful = owners.split(" ")
    lost = [name.rpartition("@") for name in doubtful]
    return [owner, *(name for name, _, at in lost if at == str(seq))]


def pruned(run: str) -> NotFoundError:
    """Return the error for reading what a tombstone stands for."""
    return NotFoundError(
        f"The contents of run {run} were deleted by `artificer prune`.",
        hint="Only their hashes remain; `artificer verify` still checks them.",
    )


def emptied(run: str, seq: int, last: Record) -> NotFoundError | TamperedError:
    """Return the error for a record without contents, of a run with this last record.

    A run that was pruned ends with a tombstone, which says how many records it stands for.
    """
    if seq <= tombstone(last.body) and digest_of(last.body) == last.hash:
        return pruned(run)
    return TamperedError(
        f"Record {seq} of run {run} has lost its contents, and no tombstone says so.",
        hint="Run `artificer verify` to see what else is affected; restore the journal from a "
        "backup.",
    )


def _broken(run: str, seq: int, what: str) -> InvariantError:
    return InvariantError(f"Record {seq} of run {run} {what}; nothing was appended.")


def next_signal(run: str, before: int) -> int:
    """Return the number of the signal after ``before`` others. Raises OperatorError if full."""
    if before >= MAX_SIGNALS:
        raise OperatorError(
            f"The queue of run {run} is full: {MAX_SIGNALS} signals.",
            hint="Resume the run, so that it reads them, or start another one.",
        )
    return before + 1
