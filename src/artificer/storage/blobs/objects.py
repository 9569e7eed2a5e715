"""Blobs in an object store: S3 and what speaks like it, or what else obstore reads from a URL.

An object is put only when it is not there, and never changed; its name is its digest.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError
from obstore.store import from_url

from artificer.errors import ConfigError, NotFoundError, OperatorError, TamperedError
from artificer.storage.blobs.claims import NAME, ObjectClaim
from artificer.storage.blobs.names import hex_of, not_found
from artificer.values.canon import digest_of

if TYPE_CHECKING:
    from obstore.store import RetryConfig

T = TypeVar("T")

ObjectLock = Callable[[str], AbstractContextManager[None]]
"""Makes the lock of an object, by its digest."""

_PREFIX = "sha256"

RENEWED_S = 600
"""Seconds after which an object that is put again is written again: its age is that of its use."""

CLAIM_SECONDS = 60.0
"""How long a claim is believed before who writes looks again."""

_CUT = "HttpError"
"""In the error of a request that got no answer; one that was refused got one."""

PAUSE_S = 0.1
"""Seconds until such a request is tried again."""

PATIENCE_SECONDS = 30.0
"""How long a store may be away before what waits for it fails, as with a database."""


def _retries(patience_s: float) -> RetryConfig:
    """Try again, once in a second, until patience has ended: that alone is the limit."""
    first, longest = timedelta(seconds=0.1), timedelta(seconds=1)
    return {
        "max_retries": 1000,
        "backoff": {"init_backoff": first, "max_backoff": longest, "base": 2},
        "retry_timeout": timedelta(seconds=patience_s),
    }


def _unlocked(_: str) -> AbstractContextManager[None]:
    return nullcontext()


class ObjectStore:
    """A `BlobStore` at a URL such as ``s3://bucket/folder``.

    What else the connection needs (keys, the endpoint, the region) is read from the environment as
    Amazon's own tools do: ``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``, ``AWS_REGION`` and others.
    ``lock`` keeps those apart, in all processes, who remove an object and who want it again.
    A store that is away is waited for, ``patience_s``.
    """

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = False,
        lock: ObjectLock = _unlocked,
        patience_s: float = PATIENCE_SECONDS,
    ) -> None:
        self._url = url
        self._read_only = read_only
        self._lock = lock
        self._patience_s = patience_s
        self._claim: ObjectClaim | None = None
        self._claimed_until = float("-inf")
        try:
            self._store = from_url(url, retry_config=_retries(patience_s))
        except (BaseError, ValueError) as error:
            raise ConfigError(
                f"Blobs cannot be stored at {url}: {error}.",
                hint="Check blobs= in the URL, AWS_ENDPOINT_URL and the keys in the environment.",
            ) from error

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their digest. Storing twice is storing once.

        Raises:
            OperatorError: the store cannot be reached, or refuses; nothing was stored.
        """
        self._require_writable()
        digest = digest_of(data)
        give_up = time.monotonic() + self._patience_s
        with self._designed_errors():
            try:
                obstore.put(self._store, _key(digest), data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                self._renew(digest, data)
            except GenericError:  # cut off while it was sent: obstore tries only others again
                if time.monotonic() > give_up:
                    raise
                with self._lock(digest):
                    self._tried(lambda: self._write(digest, data))
        return digest

    def _write(self, digest: str, data: bytes) -> None:
        """Store an object, even if it exists. The lock of the object is held."""
        obstore.put(self._store, _key(digest), data, use_multipart=False)

    def _renew(self, digest: str, data: bytes) -> None:
        """Refresh the time of an object, unless it is recent."""
        with self._lock(digest):
            modified = self._modified(digest)
            if modified is None or modified < time.time() - RENEWED_S:
                self._write(digest, data)

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
                data = self._tried(lambda: bytes(obstore.get(self._store, _key(digest)).bytes()))
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
                self._tried(lambda: obstore.head(self._store, _key(digest)))
            except FileNotFoundError:
                return False
            return True

    def digests(self) -> Iterator[str]:
        """Every stored digest, in no particular order; other objects are passed over."""
        for digest, _ in self._listed():
            yield digest

    def put_before(self, moment: float) -> Iterator[str]:
        """The blobs that were put before a moment (seconds since 1970), and not again since."""
        for digest, modified in self._listed():
            if modified < moment:
                yield digest

    def remove(self, digest: str, moment: float) -> bool:
        """Remove a blob, unless it was put after a moment; return whether that was done."""
        self._require_writable()
        with self._lock(digest), self._designed_errors():
            modified = self._modified(digest)
            if modified is None or modified >= moment:
                return False
            obstore.delete(self._store, _key(digest))
            return True

    def touch(self, digests: Iterable[str]) -> None:
        """Treat blobs as put now: for what refers to them from elsewhere in a moment."""
        self._require_writable()
        for digest in digests:
            with suppress(NotFoundError), self._designed_errors():
                self._renew(digest, self.get(digest))

    def belong_to(self, claim: ObjectClaim) -> None:
        """Make later writers check first whether the objects are still that world's."""
        self._claim = claim

    def claim(self, claim: ObjectClaim) -> None:
        """Make this the place of a world's blobs: another one's would be collected as nobody's.

        Raises:
            ConfigError: it is that of another world.
            MovedError: it is that of this world at another site.
            OperatorError: the store cannot be reached, or refuses.
        """
        if self._read_only:
            raise self._only_read()
        written = claim.written()
        with self._designed_errors():
            try:
                obstore.put(self._store, NAME, written, mode="create")
            except AlreadyExistsError:
                found = self._tried(lambda: bytes(obstore.get(self._store, NAME).bytes()))
                if not claim.holds(found, self._url):
                    obstore.put(self._store, NAME, written)

    def _tried(self, ask: Callable[[], T]) -> T:
        """Ask, and again when the line was cut in a way that obstore does not try again."""
        give_up = time.monotonic() + self._patience_s
        while True:
            try:
                return ask()
            except GenericError as error:
                if _CUT not in str(error) or time.monotonic() > give_up:
                    raise
            time.sleep(PAUSE_S)

    def _require_writable(self) -> None:
        if self._read_only:
            raise self._only_read()
        if self._claim is not None and time.monotonic() > self._claimed_until:
            self.claim(self._claim)
            self._claimed_until = time.monotonic() + CLAIM_SECONDS

    def _only_read(self) -> OperatorError:
        return OperatorError(
            f"The blobs at {self._url} are open for reading only; nothing was written.",
            hint="Open the world as a World to write to it.",
        )

    def _modified(self, digest: str) -> float | None:
        """When an object was put, or None when it is not there."""
        try:
            return obstore.head(self._store, _key(digest))["last_modified"].timestamp()
        except FileNotFoundError:
            return None

    def _listed(self) -> Iterator[tuple[str, float]]:
        with self._designed_errors():
            for page in obstore.list(self._store, _PREFIX):
                for found in page:
                    match = re.fullmatch(f"{_PREFIX}/([0-9a-f]{{64}})", found["path"])
                    if match is not None:
                        yield f"sha256:{match[1]}", found["last_modified"].timestamp()

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
