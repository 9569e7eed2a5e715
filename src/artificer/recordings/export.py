"""Exporting a run: its records and blobs in one file, to be replayed anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.ports import BlobStore, Journal
from artificer.recordings.file import RecordingHeader, blob_line, to_file
from artificer.runtime.load import Loaded, load
from artificer.runtime.verify import cited


async def export(journal: Journal, blobs: BlobStore, run: str) -> bytes:
    """Return a run as the bytes of a recording.

    Raises:
        NotFoundError: there is no such run.
        TamperedError: its journal was changed after it was written.
    """
    loaded, kept = await gather(journal, blobs, run)
    records = [{"record": record.body.decode()} for record in await journal.read(run)]
    header = RecordingHeader(run=run, state=loaded.state.digest, head=loaded.head)
    lines = [header.to_json(), *records, *(blob_line(data) for data in kept.values())]
    return to_file(lines)


async def gather(journal: Journal, blobs: BlobStore, run: str) -> tuple[Loaded, dict[str, bytes]]:
    """Load a run and every blob that it refers to."""
    kept = _Reading(blobs)
    loaded = await load(journal, kept, run)
    for line in loaded.lines:
        for digest in cited(line):
            kept.get(digest)
    return loaded, kept.read


class _Reading:
    """A blob store that remembers what was read from it."""

    def __init__(self, inner: BlobStore) -> None:
        self._inner = inner
        self.read: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        return self._inner.put(data)

    def get(self, digest: str) -> bytes:
        data = self.read[digest] = self._inner.get(digest)
        return data

    def has(self, digest: str) -> bool:
        return self._inner.has(digest)

    def digests(self) -> Iterable[str]:
        return self._inner.digests()
