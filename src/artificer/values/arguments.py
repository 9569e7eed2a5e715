"""Values that a program passes as arguments, checked before anything uses them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from artificer.errors import AuthorError
from artificer.values.text import clip

T = TypeVar("T")

LARGEST = 2**63 - 1
"""The largest number that every storage can hold."""

LEAST_SECONDS = 0.001
"""The shortest time limit: limits are recorded in milliseconds."""

MAX_SECONDS = 1_000_000_000
"""The longest time limit, some 30 years."""

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""The ids that may be chosen for new runs."""

MAX_RUN_ID = 200
"""Characters of the longest id. Those of the runs that a run starts begin with its own. A run's id
is also the name of a folder, which may have 255 bytes, and of a run in a file.
"""

_SAFE_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_RUN_ID - 1}}}")


def whole(name: str, value: object, lowest: int = 0, highest: int = LARGEST) -> int:
    """Return a whole number within bounds. Raises AuthorError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise AuthorError(
            f"{name} is {shown(value)}, not a whole number from {lowest} to {highest}.",
            hint=f"Pass {name}={max(lowest, 1)}, or another number in these bounds.",
        )
    return value


def plain(name: str, value: object) -> str:
    """Return a text that can be stored. Raises AuthorError for anything else."""
    if not isinstance(value, str):
        raise AuthorError(f"{name} is {shown(value)}, not a text.", hint=f"Pass {name}='…'.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise AuthorError(
            f"{name} holds half a character: {shown(value)}.",
            hint="Decode the bytes as UTF-8, or with errors='replace'.",
        ) from None
    return value


def optional(name: str, value: object) -> str | None:
    """Return a text that can be stored, or None. Raises AuthorError for anything else."""
    return None if value is None else plain(name, value)


def path(name: str, value: object) -> str:
    """Return a path as a text. Raises AuthorError for what can be none."""
    text = value.__fspath__() if hasattr(value, "__fspath__") else value
    if not isinstance(text, str) or not _is_path(text):
        raise AuthorError(
            f"{name} is {shown(value)}, not a path.", hint="Pass a text or a pathlib.Path."
        )
    return text


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def instance(name: str, value: object, kind: type[T], hint: str) -> T:
    """Return a value of a type of ours. Raises AuthorError for anything else."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise AuthorError(f"{name} is {shown(value)}, not {article} {kind.__name__}.", hint=hint)
    return value


def offers(value: object, method: str) -> bool:
    """Whether a value is an object, not a class, with a method."""
    return hasattr(value, method) and not isinstance(value, type)


def takes(function: object, count: int) -> bool:
    """Whether a function can be called with this number of arguments, as far as can be known."""
    if not callable(function):
        return False
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # one that does not say what it takes
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def yields(function: object) -> bool:
    """Whether a function is a generator: calling it runs none of its body."""
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def listed(name: str, values: object, owner: str, example: str = "[…]") -> tuple[Any, ...]:
    """Return the members of a list. Raises AuthorError for what is none."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise AuthorError(
            f"The {name} of {owner} are a list, not {shown(values)}.", hint=f"{name}={example}"
        )
    return tuple(values)


def new_run_id(value: object) -> str:
    """Return the id of a new run. Raises AuthorError if it would be no name of a folder."""
    if not isinstance(value, str) or not RUN_ID.fullmatch(value):
        raise AuthorError(
            f"{shown(value)} cannot be the id of a run.",
            hint="Use up to 128 letters, digits, dots, hyphens and underscores, a letter or a digit"
            " first.",
        )
    return value


def shown(value: object) -> str:
    """Return a value for a sentence, whatever it is and however long."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    return clip(ascii(value) if isinstance(value, str) else repr(value), 80)


def is_file_name(run: str) -> bool:
    """Whether the id of a run, wherever it comes from, can be the name of a file."""
    return _SAFE_NAME.fullmatch(run) is not None


def refuse_server(url: str) -> str | None:
    """Return why a text is not the base URL of a server; None if it can be one."""
    try:
        parts = urlsplit(url)
        found = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        found = None
    return None if found else "is not a URL that begins with http:// or https://"


def milliseconds(seconds: object) -> int:
    """Return a time limit in milliseconds. Raises ValueError if it is not a number of seconds."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise ValueError(f"is {shown(seconds)}, not a number of seconds")
    if seconds < LEAST_SECONDS:
        raise ValueError(f"is {shown(seconds)} seconds; the least is {LEAST_SECONDS}")
    if not seconds <= MAX_SECONDS:
        raise ValueError(f"is {shown(seconds)} seconds; the limit is {MAX_SECONDS}")
    return round(seconds * 1000)
