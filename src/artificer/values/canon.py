"""Canonical JSON (RFC 8785) and digests.

Two libraries stand behind :func:`canonical`: ``orjson``, whose sorted output is canonical for
nearly every value that passes here, and ``rfc8785``, slow and exact, for the rest: numbers with a
fraction, and text whose order in UTF-16 could differ from its order in UTF-8. A property test
holds the first against the second.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import orjson
import rfc8785

from artificer.errors import CanonicalError
from artificer.values.by_identity import ByIdentity

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer that RFC 8785 can represent exactly (IEEE 754 double)."""

_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

_NUMBERS = bytes.maketrans(b"123456789e", b"000000000.")
"""Makes one digit of all, and one sign of the two after which a number is a float: a search for
both takes a third of the time that a pattern takes."""

_FLOAT_BACKWARDS = re.compile(rb'\.0++-?(?:[,\[]|:")')
"""Such a number, read from its end: a search from the start would stop at each comma of a text."""

_HIGH = b"\xee\xef\xf0\xf1\xf2\xf3\xf4"
"""The first bytes of the characters from U+E000 on. A search for one byte is the quickest."""


def _unsure(data: bytes) -> bool:
    """Whether output may not be canonical: a float somewhere, or a character from U+E000 on, where
    the orders of UTF-8 and UTF-16 part. Digits in a text may count too; that costs time, nothing
    else.
    """
    same = data.translate(_NUMBERS)
    if b"0." in same and (data[0] not in b'{["' or _FLOAT_BACKWARDS.search(same[::-1])):
        return True
    return not data.isascii() and any(first in data for first in _HIGH)


def canonical_typed(value: Any) -> bytes:
    """Return the RFC 8785 bytes of a value known to hold no float and only ASCII member names.

    Raises:
        CanonicalError: an integer beyond 2**53, a lone surrogate.
    """
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except orjson.JSONEncodeError as error:
        raise _refused(value, error) from error


def canonical_if_plain(value: Any) -> bytes | None:
    """Return the RFC 8785 bytes of a value that was read from JSON, or None for one that takes
    longer: it holds a number with a fraction, or member names beyond U+E000.

    Raises:
        CanonicalError: an integer beyond 2**53.
    """
    data = canonical_typed(value)
    return None if _unsure(data) else data


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 bytes of a JSON value.

    Raises:
        CanonicalError: the value has no canonical form (NaN, infinity, an integer beyond 2**53,
            a lone surrogate, a type that JSON lacks).
    """
    try:
        data = orjson.dumps(value, option=_OPTIONS)
        # orjson writes NaN as null. What is equal when it is read again holds none.
        if data.find(b"null") >= 0 and orjson.loads(data) != value and _holds_no_number(value):
            raise CanonicalError("This value has no canonical JSON: NaN or infinity.")
        if not _unsure(data):
            return data
        exact: bytes = rfc8785.dumps(value)
        return exact
    except (
        orjson.JSONEncodeError,
        rfc8785.CanonicalizationError,
        UnicodeEncodeError,
        RecursionError,
    ) as error:
        raise _refused(value, error) from error


def _refused(value: Any, error: Exception) -> CanonicalError:
    """Return the error for a value without a canonical form; it names a text that is not UTF-8."""
    try:
        found = _half_character(value)
    except RecursionError:
        found = None
    if found is None:
        return CanonicalError(f"This value has no canonical JSON: {error}.")
    around = found.string[max(0, found.start() - 100) : found.end() + 100]
    return CanonicalError(
        f"A text that is not UTF-8 cannot be recorded: {around!a}.",
        hint="Rename a file or a folder with such a name. Decode bytes in their own encoding, or "
        "with errors='replace'.",
    )


def _half_character(value: Any) -> re.Match[str] | None:
    """Return the first lone surrogate in a value: what a byte that is not UTF-8 becomes."""
    if isinstance(value, str):
        return re.search("[\ud800-\udfff]", value)
    if isinstance(value, dict):
        value = [*value, *value.values()]
    parts = value if isinstance(value, (list, tuple)) else ()
    return next((found for part in parts if (found := _half_character(part))), None)


def _holds_no_number(value: Any) -> bool:
    """Whether NaN or an infinity stands somewhere in the value."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_holds_no_number, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_holds_no_number, value))


def digest_of(data: bytes) -> str:
    """Return ``sha256:<hex>`` of the bytes."""
    return "sha256:" + sha256(data).hexdigest()


def digests_in(data: bytes) -> set[str]:
    """Return whatever in some bytes looks like a digest."""
    return {found.decode() for found in re.findall(rb"sha256:[0-9a-f]{64}", data)}


def digest(value: Any) -> str:
    """Return the digest of a JSON value's canonical bytes. Raises CanonicalError."""
    return digest_of(canonical(value))


class ListDigest:
    """Digest of a canonical object with one growing list, at the cost of what is new.

    The request to a model repeats the whole conversation at every turn; hashing it again would
    cost a quadratic sum. Canonical JSON writes members in sorted order, so all that precedes the
    list's new items is a prefix whose hash state can be kept.
    """

    def __init__(self) -> None:
        self._fields: Mapping[str, Any] | None = None
        self._key = ""
        self._head = self._tail = b""
        self._known = 0
        self._last: Any = None
        self._hash = sha256()

    def digest(self, fields: Mapping[str, Any], key: str, items: Sequence[Any]) -> str:
        """Return ``digest({**fields, key: items})``.

        A conversation only ever grows: when ``items`` still holds, at its old place, the very
        object that was hashed last, all before it is taken to be unchanged. So is ``fields`` when
        it is the same object. Otherwise all is hashed again, with the same result.
        """
        before = self._head
        if fields is not self._fields or key != self._key:
            self._head, self._tail = _parts(fields, key)
            self._fields, self._key = fields, key
        known = self._known
        grown = known and len(items) >= known and items[known - 1] is self._last
        if before != self._head or not grown:
            known = 0
            self._hash = sha256(self._head)
        self._known = 0  # until all is well: an item may have no canonical form
        for number in range(known, len(items)):
            self._hash.update((b"," if number else b"") + canonical(items[number]))
        self._known, self._last = len(items), items[-1] if items else None
        whole = self._hash.copy()
        whole.update(self._tail)
        return "sha256:" + whole.hexdigest()


def _split(fields: Mapping[str, Any], key: str) -> tuple[bytes, bytes]:
    """Return the canonical bytes before and after the items of member ``key``."""

    def members(names: list[str]) -> bytes:
        return b",".join(canonical(n) + b":" + canonical(fields[n]) for n in names)

    names = sorted(fields.keys() - {key}, key=lambda name: name.encode("utf-16-be"))
    before = [n for n in names if n.encode("utf-16-be") < key.encode("utf-16-be")]
    after = names[len(before) :]
    head = b"{" + members(before) + (b"," if before else b"") + canonical(key) + b":["
    return head, b"]" + (b"," if after else b"") + members(after) + b"}"


_parts = ByIdentity(_split, 16)
"""Many runs share the fields of their requests."""
