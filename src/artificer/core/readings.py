"""The readings of a text: how a program may understand it.

A rule that names ``/etc/passwd`` is meant for every way to write it. A text of a model therefore
has several readings: as written, without Unicode's disguises, with percent signs decoded,
as the path it leads to. Who compares says what it takes: that one reading matches, or that all do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from urllib.parse import unquote

from artificer.contracts.schema import Schema
from artificer.errors import ToolDefinitionError

_DECODINGS = 3
"""Percent signs hide behind percent signs; more often than this nobody decodes them."""

_SPACES = re.compile(r"\s+")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_LONGEST_NUMBER = 64


_IGNORABLE = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible characters that are not control characters (Unicode's Default_Ignorable_Code_Point)."""

_FILE = re.compile(r"(?i)^file:(?://[^/]*)?(?=.)")
_OPTION = re.compile(r"^--?[^=/]*=|^-[A-Za-z](?=.)|^@(?=.)|^\w[\w-]*=(?=/|~|\.\.?/|(?i:file:))")
"""Signs behind which programs expect a file: ``--file=``, ``-f``, ``@`` and ``if=/``."""

_WRAPPERS = 4
"""How many of these are taken off a path at most."""

_CLIMBS = 16
"""How many steps up are followed into folders that may be next to this one."""


def plain(text: str) -> str:
    """The text in Unicode's compatibility form, with no invisible characters and single spaces."""
    folded = unicodedata.normalize("NFKC", text)
    if not folded.isascii() or not folded.isprintable():
        folded = _SPACES.sub(" ", folded)
        folded = "".join(c for c in folded if unicodedata.category(c)[0] != "C")
        folded = unicodedata.normalize("NFKC", folded)
    return _SPACES.sub(" ", folded).strip()


@lru_cache(maxsize=8)
def wide_readings(text: str) -> tuple[str, ...]:
    """Every reading of a text, the text itself first: those of :func:`readings` and, without what
    nothing shows, the path in an address of a file or behind an option, and where steps up lead.
    """
    found = list(readings(text))
    bare = plain(text)
    if not bare.isascii():
        bare = re.sub(_IGNORABLE, "", bare)
    if bare != found[0]:
        found += readings(bare)
    for reading in tuple(found):
        for inner in _unwrapped(reading):
            found += [inner, _path(inner)]
    for reading in tuple(found):
        found += _climbed(_path(reading))
    return tuple(dict.fromkeys(found))


def _unwrapped(text: str) -> Iterator[str]:
    """The rests of a text behind options and the scheme of a file."""
    for _ in range(_WRAPPERS):
        match = _FILE.match(text) or _OPTION.match(text)
        if match is None:
            return
        text = text[match.end() :]
        yield text


def _climbed(path: str) -> Iterator[str]:
    """Where a path that climbs may lead: to the root, and into folders next to those it leaves."""
    steps = path.split("/")
    up = next((n for n, step in enumerate(steps) if step != ".."), len(steps))
    below = steps[up:]
    if up and below:
        yield "/" + "/".join(below)
        for left in range(min(up, _CLIMBS, len(below) - 1) + 1):
            yield "/".join(below[left:])


@lru_cache(maxsize=8)
def readings(text: str) -> tuple[str, ...]:
    """The readings of a text by the rules of version 1, the text itself first."""
    found = [text, plain(text)]
    for _ in range(_DECODINGS):
        decoded = plain(unquote(found[-1]))
        if decoded == found[-1]:
            break
        found.append(decoded)
    found += [_path(reading) for reading in found]
    return tuple(dict.fromkeys(found))


def _path(text: str) -> str:
    """Where a text leads if it is a path or an address, with slashes for its backslashes.

    If no step of it moves, nothing else changes.
    """
    slashed = text.replace("\\", "/")
    scheme = _SCHEME.match(slashed)
    start = scheme.end() if scheme else 0
    steps = slashed[start:].split("/")
    if not any(step in ("", ".", "..") for step in steps[1 if steps[0] == "" else 0 :]):
        return slashed
    kept: list[str] = []
    for step in steps:
        if step == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif step not in ("", ".") and not (step == ".." and steps[0] == ""):
            kept.append(step)
    root = "/" if steps[0] == "" else ""
    return slashed[:start] + root + "/".join(kept)


def number(text: str) -> Decimal | None:
    """The number that a text may be taken for, whichever way it is written; None for none."""
    text = plain(text)
    if len(text) > _LONGEST_NUMBER:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        try:
            value = Decimal(int(text, 0))
        except ValueError:
            return None
    return value if value.is_finite() else None


def glob(pattern: str, *, crossing: bool) -> str:
    """The regular expression of a glob: ``*`` is any text within one step of a path, ``**`` any
    text, ``?`` one character. With ``crossing``, ``*`` and ``?`` stand for slashes too.
    """
    one = "." if crossing else "[^/]"
    words = {"*": f"{one}*", "?": one}
    parts = re.split(r"(\*+|\?)", pattern)
    body = "".join(words.get(p) or (".*" if p[:1] == "*" else _literal(p)) for p in parts)
    return f"(?s:{body})"


def _literal(text: str) -> str:
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


@lru_cache(maxsize=1024)
def _engine(expression: str) -> Schema:
    return Schema({"type": "string", "pattern": expression})


def compiles(expression: str) -> bool:
    """Whether the linear engine can read a regular expression."""
    try:
        _engine(expression)
    except ToolDefinitionError:
        return False
    return True


def found(expression: str, text: str) -> bool:
    """Whether a regular expression matches somewhere in a text, in time linear in its length."""
    return _engine(expression).accepts(text)


def whole(expression: str) -> str:
    """The expression that matches where this one matches a text from its beginning to its end."""
    return f"^(?:{expression})$"
