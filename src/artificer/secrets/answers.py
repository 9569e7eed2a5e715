"""Checking the answers of sources, which may be third-party programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from artificer.errors import OperatorError
from artificer.ports import SecretSource

MAX_VALUE = 65_536
"""Characters of the longest value."""

NAME = re.compile(r"\w{1,200}")
"""The names of secrets: no path is one."""

T = TypeVar("T")


def resolved(source: SecretSource, name: str) -> str | None:
    """Return the value that a source has for a name. Raises OperatorError, and nothing else."""
    value = _guarded(lambda: source.resolve(name))
    if fault := _fault(value):
        raise OperatorError(f"{source.place(name)} {fault}")
    return value


def listed(source: SecretSource) -> dict[str, str]:
    """Return the values that a source lists, without what is none. Raises OperatorError alone."""
    found: Mapping[str, str] = _guarded(lambda: dict(source.at_hand()))
    return {n: v for n, v in found.items() if isinstance(n, str) and v and not _fault(v)}


def _guarded(ask: Callable[[], T]) -> T:
    """Return an answer. An unknown error's words are not repeated: they may hold the secret."""
    try:
        return ask()
    except OperatorError:
        raise
    except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything
        raise OperatorError(f"its source failed ({type(error).__name__})") from None


def _fault(value: object) -> str:
    """Return why a value is not a secret; empty for one, and for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return "is not a text"
    if len(value) > MAX_VALUE:
        return f"is longer than {MAX_VALUE} characters"
    if "\0" in value:
        return "holds a NUL character"
    return "" if value else "is empty"
