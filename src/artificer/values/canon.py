"""Canonical JSON (RFC 8785) and digests.

Two implementations stand behind :func:`canonical`: the C encoder of the standard library, right
for values whose canonical form it happens to produce (no floats, ASCII member names, integers
within 2**53), and the ``rfc8785`` package for all others. A property test holds the first
against the second.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import rfc8785

from artificer.errors import CanonicalError

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer that RFC 8785 can represent exactly (IEEE 754 double)."""

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 bytes of a JSON value.

    Raises:
        CanonicalError: the value has no canonical form (NaN, infinity, an integer beyond 2**53,
            a lone surrogate, a type that JSON lacks).
    """
    try:
        if _is_plain(value):
            return _encode(value).encode()
        exact: bytes = rfc8785.dumps(value)
        return exact
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise CanonicalError(f"This value has no canonical JSON: {error}.") from error


def digest_of(data: bytes) -> str:
    """Return ``sha256:<hex>`` of the bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """Return the digest of a JSON value's canonical bytes. Raises CanonicalError."""
    return digest_of(canonical(value))


def _is_plain(value: Any) -> bool:
    """Whether the standard encoder's output for this value is its canonical form."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
    if kind is list or kind is tuple:
        return all(map(_is_plain, value))
    if kind is dict:
        return all(type(k) is str and k.isascii() for k in value) and all(
            map(_is_plain, value.values())
        )
    return False


class ListDigest:
    """Digest of a canonical object with one growing list, at the cost of what is new.

    The request to a model repeats the whole conversation at every turn; hashing it afresh would
    cost a quadratic sum. Canonical JSON writes members in sorted order, so all that precedes the
    list's new items is a prefix whose hash state can be kept.
    """

    def __init__(self) -> None:
        self._head = b""
        self._items: list[Any] = []
        self._hash = hashlib.sha256()

    def digest(self, rest: Mapping[str, Any], key: str, items: list[Any]) -> str:
        """Return ``digest({**rest, key: items})``.

        Items already hashed are recognised by comparison, which is quick for a caller that reuses
        its item objects; when they differ, all is hashed anew, with the same result.
        """
        head, tail = _split(rest, key)
        known = len(self._items)
        if head != self._head or items[:known] != self._items:
            self._head, self._items, known = head, [], 0
            self._hash = hashlib.sha256(head)
        for item in items[known:]:
            self._hash.update((b"," if self._items else b"") + canonical(item))
            self._items.append(item)
        whole = self._hash.copy()
        whole.update(tail)
        return "sha256:" + whole.hexdigest()


def _split(rest: Mapping[str, Any], key: str) -> tuple[bytes, bytes]:
    """Return the canonical bytes before and after the items of member ``key``."""

    def members(names: list[str]) -> bytes:
        return b",".join(canonical(n) + b":" + canonical(rest[n]) for n in names)

    names = sorted(rest, key=lambda name: name.encode("utf-16-be"))
    before = [n for n in names if n.encode("utf-16-be") < key.encode("utf-16-be")]
    after = names[len(before) :]
    head = b"{" + members(before) + (b"," if before else b"") + canonical(key) + b":["
    return head, b"]" + (b"," if after else b"") + members(after) + b"}"
