"""Blobs in an object store: S3 and what speaks like it, or what else obstore reads from a URL.

An object is put only when it is not there, and never changed; its name is its digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

from artificer.errors import ConfigError, OperatorError, TamperedError
from artificer.storage.blobs.names import hex_of, not_found
from artificer.values.canon import digest_of

if TYPE_CHECKING:
    from obstore.store import RetryConfig

_PREFIX = "sha256"

_RETRIES: RetryConfig = {"max_retries": 10, "retry_timeout": timedelta(seconds=30)}


class ObjectStore:
    """A `BlobStore` at a URL such as ``s3://bucket/folder``.

    What else the connection needs (keys, the endpoint, the region) is read from the environment as
    Amazon's own tools do: ``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``, ``AWS_REGION`` and others.
    """

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        self._url = url
        self._read_only = read_only
        try:
            self._store = from_url(url, retry_config=_RETRIES)
        except (BaseError, ValueError) as error:
            raise ConfigError(f"Blobs cannot be stored at {url}: {error}.") from error

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their digest. Storing twice is storing once.

        Raises:
            OperatorError: the store cannot be reached, or refuses; nothing was stored.
        """
        if self._read_only:
            raise OperatorError(
                f"The blobs at {self._url} are open for reading only; nothing was written.",
                hint="Open the world as a World to write to it.",
            )
        digest = digest_of(data)
        with self._designed_errors(), suppress(AlreadyExistsError):
            obstore.put(self._store, _key(digest), data, mode="create", use_multipart=False)
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes.

        Raises:
            NotFoundError: no such blob, or no digest at all.
            TamperedError: the stored bytes do not have this digest.
            OperatorError: the store cannot be reached.
        """
        if hex_of(digest) is None:
            raise not_found(digest)
        with self._designed_errors():
            try:
                data = bytes(obstore.get(self._store, _key(digest)).bytes())
            except FileNotFoundError:
                raise not_found(digest) from None
        if digest_of(data) != digest:
            raise TamperedError(
                f"The object of blob {digest} holds other bytes.",
                hint="Restore it from a backup, or delete it and repeat the command that wrote it.",
            )
        return data

    def has(self, digest: str) -> bool:
        """Whether the blob is there (its bytes are not verified)."""
        if hex_of(digest) is None:
            return False
        with self._designed_errors():
            try:
                obstore.head(self._store, _key(digest))
            except FileNotFoundError:
                return False
            return True

    def digests(self) -> Iterator[str]:
        """Every stored digest, in no particular order; other objects are passed over."""
        with self._designed_errors():
            for page in obstore.list(self._store, _PREFIX):
                for found in page:
                    match = re.fullmatch(f"{_PREFIX}/([0-9a-f]{{64}})", found["path"])
                    if match is not None:
                        yield f"sha256:{match[1]}"

    @contextmanager
    def _designed_errors(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            raise OperatorError(
                f"The blobs at {self._url} cannot be read or written: {reason}.",
                hint="Nothing was recorded. Check the store, and AWS_ENDPOINT_URL and the keys in "
                "the environment; then resume.",
            ) from error


def _key(digest: str) -> str:
    return f"{_PREFIX}/{digest.removeprefix('sha256:')}"
