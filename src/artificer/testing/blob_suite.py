"""Conformance tests for blob stores, to run with your own.

Subclass `BlobSuite` in a test module and give it a pytest fixture ``store`` that yields a fresh,
empty store.
"""

from __future__ import annotations

import hashlib

from artificer.errors import NotFoundError
from artificer.ports import BlobStore

NOT_DIGESTS = (
    "",
    "sha256:",
    "sha256:" + "A" * 64,
    "sha256:" + "0" * 63,
    "sha256:" + "0" * 64 + "\n",
    "md5:" + "0" * 64,
    "0" * 64,
    "sha256:../../../../etc/passwd",
    "sha256:../" + "0" * 61,
    "/etc/passwd",
    "sha256:" + "0" * 63 + "\0",
    "sha256:" + "٠" * 64,
)
"""Texts that look like digests at first sight."""


def is_missing(store: BlobStore, digest: str) -> bool:
    """Return whether both methods of the store report that the blob does not exist."""
    if store.has(digest):
        return False
    try:
        store.get(digest)
    except NotFoundError:
        return True
    return False


class BlobSuite:
    """The behavior of the `BlobStore` port. Subclass it and give it a fixture ``store``."""

    def test_round_trip(self, store: BlobStore) -> None:
        """Bytes that were put come back under their SHA-256."""
        for data in (b"bytes", b"\0\xff\r\n", "läuft 🏃".encode(), bytes(range(256)) * 20 * 1024):
            digest = store.put(data)
            assert digest == "sha256:" + hashlib.sha256(data).hexdigest()
            assert store.get(digest) == data
            assert store.has(digest)

    def test_empty_bytes_are_a_blob(self, store: BlobStore) -> None:
        """Empty bytes are stored like any others."""
        digest = store.put(b"")
        assert store.has(digest)
        assert store.get(digest) == b""

    def test_putting_twice_is_putting_once(self, store: BlobStore) -> None:
        """The same bytes have one digest and one place."""
        assert store.put(b"twice") == store.put(b"twice")
        assert len(list(store.digests())) == 1

    def test_missing_blob(self, store: BlobStore) -> None:
        """A digest that was never stored is not found."""
        store.put(b"something else")
        assert is_missing(store, "sha256:" + hashlib.sha256(b"never put").hexdigest())

    def test_what_is_no_digest_is_not_found(self, store: BlobStore) -> None:
        """Malformed digests find nothing, with or without a path in them."""
        for text in NOT_DIGESTS:
            assert is_missing(store, text), text

    def test_digests_are_those_of_all_blobs(self, store: BlobStore) -> None:
        """Every blob is listed once, and nothing else is listed."""
        assert list(store.digests()) == []
        put = [store.put(b"%d" % n) for n in range(40)]
        assert sorted(store.digests()) == sorted(put)
