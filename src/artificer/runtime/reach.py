"""The blobs that a world refers to: to be safe, anything that looks like a digest counts.

The records of every run, the signals to it and the versions of every workspace are searched, and
then the blobs that they mention, for a blob may mention others: a deliverable its artifacts, a tree
its files.
"""

from __future__ import annotations

from artificer.core.tombstone import tombstone
from artificer.errors import NotFoundError
from artificer.ports import BlobStore, Journal, RunHead, Signalled, Versions
from artificer.runtime.progress import ReportProgress, unreported
from artificer.values.canon import digests_in

PAGE = 1_000
"""Records that are read at once."""


async def reachable(
    journal: Journal, blobs: BlobStore, versions: Versions, progress: ReportProgress = unreported
) -> set[str]:
    """Return every stored blob that is referred to, directly or through others.

    Raises:
        TamperedError: a record or a blob cannot be read, so that it may refer to anything.
    """
    stored = set(blobs.digests())
    heads = await journal.runs()
    waiting: set[str] = set()
    for number, head in enumerate(heads, 1):
        waiting |= await _mentioned(journal, head) & stored
        waiting |= await _signalled(journal, head.run) & stored
        progress("searching runs", number, len(heads))
    for owner in ("", *(head.run for head in heads)):  # a run has drafts of its own
        waiting |= _versions(versions, owner)
    waiting &= stored
    reached: set[str] = set()
    while waiting:
        reached |= waiting
        found: set[str] = set()
        for digest in waiting:
            try:
                found |= digests_in(blobs.get(digest))
            except NotFoundError:  # it was removed meanwhile; so nothing refers to it
                continue
        waiting = (found & stored) - reached
    return reached


def _versions(versions: Versions, owner: str) -> set[str]:
    found: set[str] = set()
    for name in versions.names(owner):
        newest = versions.head(name, owner)
        numbers = range(1, newest[0] + 1) if newest else ()
        found |= {digest for n in numbers if (digest := versions.get(name, n, owner))}
    return found


async def _mentioned(journal: Journal, head: RunHead) -> set[str]:
    found: set[str] = set()
    after = 0
    while after < head.head.seq:
        try:
            records = await journal.read(head.run, after, PAGE)
        except NotFoundError:
            if after or not await _is_pruned(journal, head):
                raise
            after = head.head.seq - 1  # the tombstone
            continue
        for record in records:
            found |= digests_in(record.body)
        if not records:
            break
        after = records[-1].seq
    return found


async def _signalled(journal: Journal, run: str) -> set[str]:
    """The digests in the signals to a run, which it may not have received yet."""
    if not isinstance(journal, Signalled):
        return set()
    found: set[str] = set()
    for _, body in await journal.signals.read(run):
        found |= digests_in(body)
    return found


async def _is_pruned(journal: Journal, head: RunHead) -> bool:
    (last,) = await journal.read(head.run, head.head.seq - 1, 1)
    return tombstone(last.body) > 0
