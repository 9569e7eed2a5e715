"""The results of functions as a model reads them."""

from __future__ import annotations

import json
from types import NoneType
from typing import Any

from artificer.backends.function import plain
from artificer.errors import CanonicalError
from artificer.values.canon import canonical
from artificer.values.text import head_and_tail

MAX_CONTENT = 32_000
"""Characters of a result that a model is given: its beginning and its end."""

_JSON_TYPES = (None, NoneType, dict, list, dict[str, Any], list[Any])


def prepare(returns: Any) -> None:
    """Import what writes results of this type, before any process is forked that would do it."""
    if returns not in _JSON_TYPES and not plain.is_plain_type(returns):
        import pydantic_core  # noqa: F401


def content_of(result: Any) -> str:
    """Return a result as a model reads it: a string unchanged, anything else as JSON.

    Raises ValueError for a result without a JSON form.
    """
    if not isinstance(result, str):
        value = result if plain.is_plain(result) else _jsonable(result)
        try:
            return head_and_tail(canonical(value).decode(), MAX_CONTENT)
        except CanonicalError:  # a huge integer, NaN: no digest depends on it, and it can be read
            result = json.dumps(value, sort_keys=True, ensure_ascii=False)
    readable = result.encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored
    return head_and_tail(readable, MAX_CONTENT)


def _jsonable(result: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(result)
