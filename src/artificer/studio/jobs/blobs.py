"""The blobs that a job has: those that its records name, those that these name, and its own.

Who knows a digest does not know its bytes. So a worker reads no blob because it can name it: what
it writes may mention another run's blob in a text, but may not refer to it, and what its own blobs
refer to beyond the job is remembered as not the job's.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from threading import RLock

from artificer.errors import InvalidValueError, NotFoundError
from artificer.ports import BlobStore, Journal
from artificer.studio.jobs.grants import LeaseGrants
from artificer.values.canon import digest_of

PAGE = 1_000

_REFERENCE = re.compile(rb'(?<!\\)"(sha256:[0-9a-f]{64})"')


def references(data: bytes) -> set[str]:
    """Return the digests that are members of JSON; those within a longer text are none."""
    return {found.decode() for found in _REFERENCE.findall(data)}


class JobBlobs:
    """The blobs of one job, as one lease sees them."""

    def __init__(self, job: str, blobs: BlobStore, grants: LeaseGrants) -> None:
        self._job, self._blobs, self._grants = job, blobs, grants
        kept = grants.kept_blobs(job)
        self._known = {digest for digest, is_own in kept.items() if is_own}
        self._foreign = {digest for digest, is_own in kept.items() if not is_own}
        self._unread = set(self._known)
        self._lock = RLock()

    async def read_runs(self, journal: Journal, runs: Iterable[str]) -> None:
        """Collect what the records of runs, and signals to them, refer to."""
        for run in runs:
            after = 0
            while records := await journal.read(run, after, PAGE):
                for record in records:
                    self.allow(references(record.body))
                after = records[-1].seq

    def allow(self, digests: Iterable[str]) -> None:
        """Count digests as the job's."""
        with self._lock:
            fresh = set(digests) - self._known - self._foreign
            self._known |= fresh
            self._unread |= fresh

    def put(self, data: bytes) -> str:
        """Count bytes as the job's own, and remember what they refer to that is not."""
        digest = digest_of(data)
        with self._lock:
            for named in references(data):
                if not self.has(named) and self._blobs.has(named):
                    self._foreign.add(named)
                    self._grants.keep_blob(self._job, named, is_own=False)
            self._foreign.discard(digest)
            self._known.add(digest)
            self._unread.discard(digest)
        self._grants.keep_blob(self._job, digest, is_own=True)
        return digest

    def has(self, digest: str) -> bool:
        """Whether a digest is of the job. Reads those that it may follow from."""
        with self._lock:
            while digest not in self._known and self._unread:
                try:
                    self.allow(references(self._blobs.get(self._unread.pop())))
                except NotFoundError:  # the digest of a state, a record, a request
                    continue
            return digest in self._known and digest not in self._foreign

    async def check(self, named: Iterable[str], blobs: Sequence[bytes] = ()) -> None:
        """Accept digests that are referred to, with blobs that come too.

        Raises InvalidValueError.
        """
        await asyncio.to_thread(self._check, sorted(named), blobs)

    def _check(self, named: Sequence[str], blobs: Sequence[bytes]) -> None:
        for data in blobs:
            self.put(data)
        for digest in named:
            if not self.has(digest) and self._blobs.has(digest):
                raise InvalidValueError("A record", "", f"refers to {digest}, a blob of others")
        self.allow(named)
