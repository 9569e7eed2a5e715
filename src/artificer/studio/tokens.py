"""The tokens of programs that use the API: kept as digests, in a file of the world's folder.

A token holds 256 random bits, so that a plain SHA-256 of it is enough: nothing guesses it. The
text is shown once, when it is made. Each says what it may do (`TokenScope`) and when it ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, get_args

from artificer.errors import AuthorError, InvalidValueError, NotFoundError, TamperedError
from artificer.system.files import private_file, private_folder, sync_folder
from artificer.values.base import Meta, Value, ValueReader

TokenScope = Literal["read", "act", "approve", "work", "admin"]
"""The rights of a token: look, begin and steer runs, decide about them, execute them, or all."""

SCOPES: tuple[TokenScope, ...] = get_args(TokenScope)

NAME = "studio-tokens.json"

MAX_TOKENS = 1_000
"""Limit on the tokens of a world."""

MAX_DAYS = 366
"""The longest life of a token."""

HOUR_MS, DAY_MS = 3_600_000, 86_400_000

_TEXT = re.compile(r"artificer_([0-9a-f]{8})_[A-Za-z0-9_-]{43}", re.ASCII)


class ApiToken(Value):
    """A token as it is kept. ``name`` says whose it is; times are milliseconds since 1970 UTC."""

    id: str
    name: Annotated[str, Meta(min_length=1, max_length=80)]
    scopes: Annotated[tuple[TokenScope, ...], Meta(min_length=1)]
    digest: str
    created: int
    expires: int


class _Kept(Value):
    tokens: tuple[ApiToken, ...] = ()


_reader: ValueReader[_Kept] = ValueReader(_Kept, "the file of tokens")


class ApiTokens:
    """The tokens of one world. Every process sees what another one has changed."""

    def __init__(self, folder: Path, now: Callable[[], int]) -> None:
        self._path = folder / NAME
        self._now = now
        self._read: tuple[object, tuple[ApiToken, ...]] = (None, ())

    def all(self) -> tuple[ApiToken, ...]:
        """Return every token that was not revoked, oldest first. Raises TamperedError."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return ()
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        if self._read[0] != stamp:
            try:
                self._read = stamp, _reader.read(self._path.read_bytes()).tokens
            except (InvalidValueError, OSError) as error:
                raise TamperedError(
                    f"{self._path} was changed outside the studio: no token works.",
                    hint="Remove the file, and create new tokens.",
                ) from error
        return self._read[1]

    def valid(self) -> tuple[ApiToken, ...]:
        """Return the tokens that can be used now. Raises TamperedError."""
        return tuple(token for token in self.all() if token.expires > self._now())

    def find(self, text: str) -> ApiToken | None:
        """Return the token of a text, if it can be used. Raises TamperedError."""
        match = _TEXT.fullmatch(text)
        digest, name = digest_of_token(text), match[1] if match else ""
        token = next((known for known in self.valid() if known.id == name), None)
        same = hmac.compare_digest(token.digest if token else "", digest)
        return token if same else None

    def new(self, name: str, scopes: tuple[TokenScope, ...], days: int) -> tuple[ApiToken, str]:
        """Create a token, and return it with its text. Raises AuthorError, TamperedError."""
        if not name.strip() or not name.isprintable() or len(name) > 80:
            raise AuthorError(
                f"{name[:100]!r} is not a valid name for a token.",
                hint="Use 1 to 80 printable characters.",
            )
        if not 1 <= days <= MAX_DAYS:
            raise AuthorError(
                f"A token is valid for 1 to {MAX_DAYS} days, not {days}.",
                hint=f"Choose a number from 1 to {MAX_DAYS}.",
            )
        with self._changing() as tokens:
            return self._added(tokens, name.strip(), scopes, days * DAY_MS)

    def rotate(self, word: str, keep_hours: int = 0) -> tuple[ApiToken, str]:
        """Replace a token by one that may do the same for as long; the old one ends.

        Raises NotFoundError, TamperedError.
        """
        with self._changing() as tokens:
            old = _one(tokens, word)
            end = min(old.expires, self._now() + keep_hours * HOUR_MS)
            tokens[tokens.index(old)] = old.replace(expires=end)
            return self._added(tokens, old.name, old.scopes, old.expires - old.created)

    def revoke(self, word: str) -> ApiToken:
        """End a token at once. Raises NotFoundError, TamperedError."""
        with self._changing() as tokens:
            token = _one(tokens, word)
            tokens.remove(token)
            return token

    def _added(
        self, tokens: list[ApiToken], name: str, scopes: tuple[TokenScope, ...], life: int
    ) -> tuple[ApiToken, str]:
        now = self._now()
        tokens[:] = [token for token in tokens if token.expires > now - MAX_DAYS * DAY_MS]
        if len(tokens) >= MAX_TOKENS:
            raise AuthorError(f"There are {MAX_TOKENS} tokens.", hint="Revoke some of them.")
        known = {token.id for token in tokens}
        number = secrets.token_hex(4)
        while number in known:
            number = secrets.token_hex(4)
        text = f"artificer_{number}_{secrets.token_urlsafe(32)}"
        token = ApiToken(
            id=number,
            name=name,
            scopes=tuple(scope for scope in SCOPES if scope in scopes),
            digest=digest_of_token(text),
            created=now,
            expires=now + life,
        )
        tokens.append(token)
        return token, text

    @contextmanager
    def _changing(self) -> Iterator[list[ApiToken]]:
        """Hold the lock, and write the tokens when the block has ended."""
        folder = self._path.parent
        private_folder(folder)
        lock = folder / f"{NAME}.lock"
        private_file(lock)
        with lock.open("rb+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            tokens = list(self.all())
            yield tokens
            fresh = folder / f"{NAME}.new"
            fresh.unlink(missing_ok=True)
            private_file(fresh)
            with fresh.open("rb+") as file:
                file.write(_Kept(tokens=tuple(tokens)).canonical())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
            sync_folder(folder)


def digest_of_token(text: str) -> str:
    """Return the part of a token that is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _one(tokens: list[ApiToken], word: str) -> ApiToken:
    for token in tokens:
        if token.id == word:
            return token
    raise NotFoundError(f"There is no token {word[:40]!r}.", hint="artificer studio token list")
