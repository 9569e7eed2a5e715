"""The results of functions as a model reads them."""

from __future__ import annotations

import json
from typing import Any

from artificer.backends.function import plain
from artificer.core.attachments import described
from artificer.errors import CanonicalError
from artificer.ports import Attachment
from artificer.ports.attachment import block_of
from artificer.values.canon import canonical
from artificer.values.text import head_and_tail

MAX_CONTENT = 32_000
"""Characters of a result that a model is given: its beginning and its end."""


def split_result(result: Any) -> tuple[Any, tuple[Attachment, ...]]:
    """Return a result without its attachments, and those: an attachment, or those of a list.

    Texts of such a list become one text.
    """
    parts = list(result) if isinstance(result, list | tuple) else [result]
    attachments = tuple(part for part in parts if isinstance(part, Attachment))
    if not attachments:
        return result, ()
    others = [part for part in parts if not isinstance(part, Attachment)]
    if all(isinstance(part, str) for part in others):
        return "\n\n".join(others) or _named(attachments), attachments
    return others[0] if len(others) == 1 else others, attachments


def _named(attachments: tuple[Attachment, ...]) -> str:
    return "\n".join(f"[{described(block_of(attachment))}]" for attachment in attachments)


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
