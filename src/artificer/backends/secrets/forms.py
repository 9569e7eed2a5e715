"""The forms in which a text may hold a secret: as it is, and as programs and models encode it.

``docs/guides/secrets.md`` lists them.
"""

from __future__ import annotations

import base64
import codecs
import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from urllib.parse import quote

from msgspec import Struct

MIN_ENCODED = 8
"""Characters of the shortest value that is looked for in other forms than its own, and of the
shortest form: a shorter one would be found where there is no secret.
"""

MIN_WORD = 16
"""Characters of the shortest value without a digit that is looked for in another case or with
spaces: a shorter one may be a word.
"""

_BETWEEN = (" ", ".", "-", "_", ",", ", ", "\n", '","', '", "', "','", "', '")
_BETWEEN_HEX = (":", " ", "-", ", 0x", ",0x")


class _Base(Struct, frozen=True):
    """An encoding of ``bytes_in`` bytes as ``text_out`` characters; ``whole`` if every one of these
    depends on all of those.
    """

    encode: Callable[[bytes], bytes]
    bytes_in: int
    text_out: int
    whole: bool = False


_BASE64 = (_Base(base64.b64encode, 3, 4), _Base(base64.urlsafe_b64encode, 3, 4))
_BASES = (
    *_BASE64,
    _Base(base64.b32encode, 5, 8),
    _Base(base64.b85encode, 4, 5, whole=True),
    _Base(base64.a85encode, 4, 5, whole=True),
)


@lru_cache(maxsize=256)
def forms_of(value: str) -> frozenset[str]:
    """Every form of a value that is its own text, with whatever stands around it."""
    if len(value) < MIN_ENCODED:
        return frozenset({value})
    data = bytes_of(value)
    found = {*_of_texts(value), *_by_character(value), *_by_byte(data), *_twice(data)}
    found.add(data.decode("utf-8", "replace"))
    found |= {form for base in _BASES for form in _aligned(data, base)}
    found |= {form.lower() for form in _aligned(data, _BASES[2])}
    if len(value) >= MIN_WORD or any(map(str.isdigit, value)):
        found |= {value.upper(), value.lower(), value.swapcase(), value[::-1]}
        found |= {codecs.encode(value, "rot13"), *(between.join(value) for between in _BETWEEN)}
        found |= {json.dumps([*value], separators=(comma, ":"))[2:-2] for comma in (",", ", ")}
    return frozenset({value, *(form for form in found if len(form) >= MIN_ENCODED)})


def bytes_of(value: str) -> bytes:
    """Return the bytes of a value, as they are in the environment: it may hold other than text."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, of a source of JSON
        return value.encode("utf-8", "replace")


def _of_texts(value: str) -> Iterator[str]:
    """In base64 and in hex, after the value was escaped as text too."""
    escaped = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    for text in {value, *escaped, quote(bytes_of(value)), quote(bytes_of(value), safe="")}:
        data = bytes_of(text)
        yield from (data.hex(), data.hex().upper())
        for base in _BASE64:
            yield from _aligned(data, base)


def _twice(data: bytes) -> Iterator[str]:
    """In base64 twice."""
    for first in _BASE64:
        for form in _aligned(data, first):
            for second in _BASE64:
                yield from _aligned(form.encode(), second)


def _by_character(value: str) -> Iterator[str]:
    """Every character as a reference, in HTML or as an escape of JSON's, escaped once more too."""
    codes = [ord(character) for character in value]
    yield "".join(f"&#{code};" for code in codes)
    units = value.encode("utf-16-be", "replace").hex()
    fours = [units[start : start + 4] for start in range(0, len(units), 4)]
    for cased in (str.lower, str.upper):
        yield "".join(f"&#x{cased(f'{code:x}')};" for code in codes)
        for slashes in ("\\", "\\\\", "\\\\\\\\"):
            yield "".join(f"{slashes}u{cased(unit)}" for unit in fours)


def _by_byte(data: bytes) -> Iterator[str]:
    """Every byte in hexadecimal, with a sign before it or between two."""
    for form in ("{:02x}", "{:02X}"):
        pairs = [form.format(byte) for byte in data]
        yield from ("".join(f"{sign}{pair}" for pair in pairs) for sign in ("%", "%25"))
        yield from ("".join(f"{sign}x{pair}" for pair in pairs) for sign in ("\\", "\\\\", "0"))
        yield from (between.join(pairs) for between in _BETWEEN_HEX)


def _aligned(data: bytes, base: _Base) -> Iterator[str]:
    """Yield the encodings of bytes wherever they begin in a text, without the characters that
    they share with their neighbours.
    """
    for before in range(base.bytes_in):
        text = base.encode(bytes(before) + data).decode().rstrip("=")
        end = before + len(data)
        if base.whole:
            first, last = -(-before // base.bytes_in), end // base.bytes_in
            yield text[first * base.text_out : last * base.text_out]
        else:
            first = -(-before * base.text_out // base.bytes_in)
            yield text[first : end * base.text_out // base.bytes_in]
