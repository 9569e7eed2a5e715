"""The blobs of a world: small ones lie with the journal's records, the others in a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from artificer.errors import TamperedError
from artificer.ports import BlobStore
from artificer.values.canon import digest_of

LARGEST = 32 * 1024
"""Longest blob, in bytes, that is committed with its record. Longer ones are read as files."""


class Small(Protocol):
    """The part of a journal that reads the blobs it keeps."""

    def find(self, digest: str) -> bytes | None:
        """The bytes as they are stored, or None when they are not here."""

    def digests(self) -> Iterable[str]:
        """Every digest, as of now."""


class JoinedStore:
    """A `BlobStore` that also reads what a journal stored together with its records."""

    def __init__(self, small: Small, store: BlobStore) -> None:
        self._small = small
        self._store = store

    def joins(self, data: bytes) -> bool:
        """Whether a blob is short enough to be committed with the record that cites it."""
        return len(data) <= LARGEST

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their digest: see `BlobStore.put`."""
        return self._store.put(data)

    def get(self, digest: str) -> bytes:
        """Return the bytes. Raises NotFoundError, TamperedError, OperatorError."""
        data = self._small.find(digest)
        if data is None:
            return self._store.get(digest)
        if not isinstance(data, bytes) or digest_of(data) != digest:
            raise TamperedError(
                f"The journal's blob {digest} holds other bytes.",
                hint="Restore the journal from a backup.",
            )
        return data

    def has(self, digest: str) -> bool:
        """Whether the blob is there (its bytes are not verified)."""
        return self._small.find(digest) is not None or self._store.has(digest)

    def digests(self) -> Iterable[str]:
        """Every stored digest, in no particular order."""
        yield from dict.fromkeys([*self._small.digests(), *self._store.digests()])
