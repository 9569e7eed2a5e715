"""Records for tests of journals, and what a journal refuses."""

from __future__ import annotations

from collections.abc import Awaitable

from artificer.errors import ArtificerError
from artificer.ports import Head, Record
from artificer.values.base import JsonValue
from artificer.values.canon import canonical, digest_of


def records_after(head: Head, run: str, *payloads: JsonValue) -> list[Record]:
    """Return records that continue the run's chain from ``head``, one for each payload."""
    records = []
    seq, prev = head.seq, head.hash
    for payload in payloads:
        seq += 1
        body = canonical({"run": run, "seq": seq, "prev": prev, "payload": payload})
        prev = digest_of(body)
        records.append(Record(run=run, seq=seq, hash=prev, body=body))
    return records


def tombstone_after(head: Head, run: str, records: int) -> Record:
    """Return the record that replaces a run's pruned records."""
    event = {"type": "RunPruned", "records": records}
    body = canonical({"run": run, "seq": head.seq + 1, "prev": head.hash, "event": event})
    return Record(run=run, seq=head.seq + 1, hash=digest_of(body), body=body)


async def refusal(attempt: Awaitable[object]) -> ArtificerError | None:
    """Return the error of an attempt, or None if it succeeds."""
    try:
        await attempt
    except ArtificerError as error:
        return error
    return None
