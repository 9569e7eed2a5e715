"""Grammars for the values of SVG attributes.

A grammar takes a value and returns its canonical spelling, or None to refuse it. Each describes
only what is allowed, so that no escape, comment, scheme or CSS function has to be recognised to be
kept out. All of them take time linear in the value's length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from artificer.artifacts.svg.colour import converted

Grammar = Callable[[str], str | None]

MAX_NUMBER = 1_000_000
"""Largest magnitude of a coordinate, a length or a factor."""

MAX_DATA = 32_000
"""Longest path data, list of points or transform, in characters."""

MAX_TEXT = 512

MAX_BLUR = 100
MAX_AREA = 10_000

_NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3}+)?"
_NUMBER_RE = re.compile(_NUMBER)
_LENGTH_RE = re.compile(rf"({_NUMBER})(?:px|pt|pc|em|ex|rem|ch|mm|cm|in|%)?")
_ANGLE_RE = re.compile(rf"({_NUMBER})(?:deg|rad|grad|turn)?")
_SEPARATOR = re.compile(r"\s*,\s*|\s+")
_WORDS_RE = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}(?: [A-Za-z][A-Za-z0-9-]{0,31}){0,3}")
_FONTS_RE = re.compile(r"""[\w ,'"-]{1,200}""")
_HEX_RE = re.compile(r"#(?:[0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})")
_COLOUR_FUNCTION_RE = re.compile(
    rf"(?:rgb|hsl)a?\(\s*{_NUMBER}(?:%|deg)?(?:(?:\s*+[,/]\s*+|\s++){_NUMBER}%?){{2,3}}\s*\)"
)
_PLAIN_ID_RE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,159}")
_ID_RE = re.compile(r"[\w.:-]{1,60}")
_HREF_RE = re.compile(r"#([\w.:%-]{1,240})")
_URL_RE = re.compile(r"""url\(\s*(["']?)#([\w.:%-]{1,240})\1\s*\)""")
_TRANSFORM_RE = re.compile(r"\s*(matrix|translate|scale|rotate|skewX|skewY)\s*\(([^()]*)\)\s*,?")
_TRANSFORM_COUNTS = {
    "matrix": {6},
    "translate": {1, 2},
    "scale": {1, 2},
    "rotate": {1, 3},
    "skewX": {1},
    "skewY": {1},
}
_PATH_COUNTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7, "Z": 0}
_PATH_TOKEN = re.compile(rf"\s*+(?:([MmLlHhVvCcSsQqTtAaZz])|,?\s*+({_NUMBER}))")
_FLAG = re.compile(r"\s*+,?\s*+([01])")
_ARC_FLAGS = (3, 4)


def in_range(number: str) -> bool:
    """Return whether a matched number is within the accepted magnitude."""
    return abs(float(number)) <= MAX_NUMBER


def number(value: str) -> str | None:
    """Accept a plain number."""
    return value if _NUMBER_RE.fullmatch(value) and in_range(value) else None


def length(value: str) -> str | None:
    """Accept a number with an optional unit or per cent sign."""
    match = _LENGTH_RE.fullmatch(value)
    return value if match and in_range(match.group(1)) else None


def words(value: str) -> str | None:
    """Accept one to four keywords of letters, digits and hyphens, which cannot be a function."""
    spelled = " ".join(value.split())
    return spelled if _WORDS_RE.fullmatch(spelled) else None


def length_or_words(value: str) -> str | None:
    """Accept a length, or keywords such as ``auto`` or ``inherit``."""
    return length(value) or words(value)


def angle_or_words(value: str) -> str | None:
    """Accept an angle, or a keyword such as ``auto``."""
    match = _ANGLE_RE.fullmatch(value)
    if match:
        return value if in_range(match.group(1)) else None
    return words(value)


def lengths(value: str) -> str | None:
    """Accept a list of lengths, such as a dash pattern, or ``none``."""
    if len(value) > MAX_DATA:
        return None
    parts = _SEPARATOR.split(value.strip())
    if all(length(part) for part in parts):
        return " ".join(parts)
    return words(value)


def colour(value: str) -> str | None:
    """Accept a keyword, hexadecimal, ``rgb()`` or ``hsl()``; newer functions become ``rgb()``."""
    if _HEX_RE.fullmatch(value) or _COLOUR_FUNCTION_RE.fullmatch(value):
        return value
    return words(value) or converted(value)


def paint(value: str) -> str | None:
    """Accept a colour, or a reference to a gradient or pattern with an optional fallback colour."""
    match = _URL_RE.match(value)
    if not match:
        return colour(value)
    name = _referred(match[2])
    rest = value[match.end() :].strip()
    fallback = colour(rest) if rest else ""
    if fallback is None or name is None:
        return None
    return f"url(#{name}) {fallback}".rstrip()


def reference(value: str) -> str | None:
    """Accept ``url(#id)``, or a keyword such as ``none``."""
    match = _URL_RE.fullmatch(value)
    if not match:
        return words(value)
    name = _referred(match[2])
    return f"url(#{name})" if name else None


def href(value: str) -> str | None:
    """Accept ``#id``, a reference inside the drawing."""
    match = _HREF_RE.fullmatch(value)
    name = _referred(match[1]) if match else None
    return f"#{name}" if name else None


def target(attribute: str, value: str) -> str | None:
    """Return the id that an accepted value refers to. (``#abc`` is an id only in ``href``.)"""
    if attribute == "href":
        return value[1:]
    match = _URL_RE.match(value)
    return match.group(2) if match else None


def identifier(value: str) -> str | None:
    """Accept an id. Letters beyond ASCII and colons are written as their code points."""
    if _PLAIN_ID_RE.fullmatch(value):
        return value
    if not _ID_RE.fullmatch(value):
        return None
    spelled = re.sub(r"[^A-Za-z0-9_.-]|^[.-]", lambda m: f"_x{ord(m[0]):x}_", value)
    return spelled if _PLAIN_ID_RE.fullmatch(spelled) else None


def _referred(name: str) -> str | None:
    """Return the id of a reference: in a URL a character may be written as its bytes."""
    return identifier(unquote(name) if "%" in name else name)


def fonts(value: str) -> str | None:
    """Accept a list of font families."""
    return " ".join(value.split()) if _FONTS_RE.fullmatch(value) else None


def numbers(value: str) -> str | None:
    """Accept up to twenty numbers, such as a colour matrix."""
    found = _numbers(value)
    return " ".join(found) if found and len(found) <= 20 else None


def blur(value: str) -> str | None:
    """Accept one or two standard deviations, small enough to be cheap."""
    found = _numbers(value)
    if not found or len(found) > 2 or any(not 0 <= float(n) <= MAX_BLUR for n in found):
        return None
    return " ".join(found)


def area(value: str) -> str | None:
    """Accept an offset or a size of a filter's region, whose cost grows with its pixels."""
    match = _LENGTH_RE.fullmatch(value)
    return value if match and abs(float(match[1])) <= MAX_AREA else None


def text(value: str) -> str | None:
    """Accept text for people; it is escaped when written."""
    return " ".join(value.split()) if len(value) <= MAX_TEXT else None


def language(value: str) -> str | None:
    """Accept a language tag."""
    return value if re.fullmatch(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,4}", value) else None


def points(value: str) -> str | None:
    """Accept pairs of coordinates."""
    numbers = _numbers(value)
    if numbers is None or len(numbers) % 2:
        return None
    return " ".join(f"{x},{y}" for x, y in zip(numbers[::2], numbers[1::2], strict=True))


def view_box(value: str) -> str | None:
    """Accept four numbers, the last two positive."""
    numbers = _numbers(value)
    if numbers is None or len(numbers) != 4 or min(float(n) for n in numbers[2:]) <= 0:
        return None
    return " ".join(numbers)


def transform(value: str) -> str | None:
    """Accept a list of transform functions with numbers, or ``none``."""
    if len(value) > MAX_DATA:
        return None
    parts: list[str] = []
    position = 0
    value = value.strip()
    while position < len(value):
        match = _TRANSFORM_RE.match(value, position)
        if not match:
            return words(value) if not parts else None
        name, arguments = match.groups()
        numbers = _numbers(arguments)
        if numbers is None or len(numbers) not in _TRANSFORM_COUNTS[name]:
            return None
        parts.append(f"{name}({' '.join(numbers)})")
        position = match.end()
    return " ".join(parts)


def path(value: str) -> str | None:
    """Accept path data by SVG 2 section 9.3.9: complete commands, the first of them a move."""
    if len(value) > MAX_DATA:
        return None
    value = value.strip()
    parts: list[str] = []
    command, wanted, have = "", 0, 0
    position = 0
    while position < len(value):
        flag = command in ("A", "a") and have % 7 in _ARC_FLAGS
        match = (_FLAG if flag else _PATH_TOKEN).match(value, position)
        if not match:
            return None
        position = match.end()
        name = None if flag else match.group(1)
        if name:
            if not _complete(command, wanted, have) or (not parts and name not in "Mm"):
                return None
            command, wanted, have = name, _PATH_COUNTS[name.upper()], 0
            parts.append(name)
            continue
        figure = match.group(1 if flag else 2)
        if not wanted or not in_range(figure):
            return None
        have += 1
        parts.append(figure)
    return " ".join(parts) if _complete(command, wanted, have) else None


def _complete(command: str, wanted: int, have: int) -> bool:
    return not wanted or (have > 0 and have % wanted == 0)


def _numbers(value: str) -> list[str] | None:
    """Return the numbers of a list, or None if there is other text between them."""
    if len(value) > MAX_DATA:
        return None
    parts: list[str] = []
    position = 0
    value = value.strip()
    while position < len(value):
        match = _NUMBER_RE.match(value, position)
        if not match or not in_range(match.group()):
            return None
        parts.append(match.group())
        position = match.end()
        gap = _SEPARATOR.match(value, position)
        position = gap.end() if gap else position
    return parts
