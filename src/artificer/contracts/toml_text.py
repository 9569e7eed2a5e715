"""Reading TOML: with ``tomli``, which is compiled, where it is installed; else ``tomllib``.

They are the same code; a thousand manifests take a third of the time with the first.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from typing import Any

_toml = import_module("tomli" if find_spec("tomli") else "tomllib")


def read_toml(text: str) -> dict[str, Any]:
    """Read a document. Raises ValueError, also for numbers that JSON lacks and deep nesting."""
    try:
        data: dict[str, Any] = _toml.loads(text, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is no number that JSON has")
    return number
