"""The results of functions as a model reads them."""

from __future__ import annotations

import inspect
import json
from decimal import Decimal
from typing import Any

import msgspec

from artificer.backends.function import plain
from artificer.core.attachments import described
from artificer.errors import CanonicalError
from artificer.ports import Attachment
from artificer.ports.attachment import block_of
from artificer.values.canon import canonical
from artificer.values.exact_json import in_order, is_json
from artificer.values.text import well_formed


class NoJsonError(TypeError):
    """A part of a result has no JSON form."""


def split_result(result: Any) -> tuple[Any, tuple[Attachment, ...]]:
    """Return a result without its attachments, and those: an attachment, or those of a list.

    Texts of such a list become one text.
    """
    parts = list(result) if isinstance(result, (list, tuple)) else [result]
    attachments = tuple(part for part in parts if isinstance(part, Attachment))
    if not attachments:
        return result, ()
    others = [part for part in parts if not isinstance(part, Attachment)]
    if all(isinstance(part, str) for part in others):
        return "\n\n".join(others) or _named(attachments), attachments
    return others[0] if len(others) == 1 else others, attachments


def _named(attachments: tuple[Attachment, ...]) -> str:
    return "\n".join(f"[{described(block_of(attachment))}]" for attachment in attachments)


def text_of(result: Any) -> str:
    """Return a result as text: a string unchanged, anything else as JSON.

    Raises NoJsonError for a result without a JSON form.
    """
    return str(result) if isinstance(result, str) else _written(_value(result))


def _value(result: Any) -> Any:
    return result if plain.is_plain(result) else _jsonable(result)


def _written(value: Any) -> str:
    try:
        return canonical(value).decode()
    except CanonicalError:  # a huge integer, NaN: no digest depends on it, and it can be read
        return json.dumps(value, sort_keys=True, ensure_ascii=False)


def data_of(result: Any, text: str) -> str | None:
    """Return the text of a result that artifacts may be bound to: a number, an object, a list, or
    a string that is JSON. Members of an object stay in the order that the function gave them.
    """
    if isinstance(result, Decimal):
        return str(result)
    if isinstance(result, str):
        return well_formed(text) if text[:1] in ("{", "[") and is_json(text) else None
    if text[:1] not in ("{", "["):
        return None if text[:1] in ('"', "n", "t", "f") else well_formed(text)
    return well_formed(in_order(text, _value(result)))


def _jsonable(result: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(result, fallback=_struct)


def _struct(value: Any) -> Any:
    """Return a struct of msgspec as an object, which pydantic does not know."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    kind = f"The type {type(value).__name__!r} of its result has no JSON form"
    raise NoJsonError(f"{kind}: await it." if inspect.isawaitable(value) else f"{kind}.")
