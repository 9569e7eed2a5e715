"""The blobs that were appended together with records, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from artificer.values.canon import digest_of


class MemorySmall:
    """The small blobs of a journal in memory."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    def keep(self, blobs: Sequence[bytes]) -> None:
        """Keep blobs: part of an append."""
        self._blobs.update((digest_of(blob), blob) for blob in blobs)

    def drop(self, digests: Iterable[str]) -> None:
        """Remove blobs."""
        for digest in digests:
            self._blobs.pop(digest, None)

    def find(self, digest: str) -> bytes | None:
        """The bytes, or None when they are not here."""
        return self._blobs.get(digest)

    def digests(self) -> Iterable[str]:
        """Every digest, as of now."""
        return list(self._blobs)
