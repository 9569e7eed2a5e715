"""Places in a request where the text of a blob belongs.

The canonical form of a request, which is digested and recorded, names the blob by its digest. The
bytes are put in when the request is sent. So an image of some megabytes is neither encoded nor
hashed when a request is prepared, and a replay needs no bytes at all: the digest stands for them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Literal

from artificer.values.base import JsonObject, JsonValue

_MARK = "$blob"

Encoding = Literal["base64", "utf-8"]


def blob_text(digest: str, encoding: Encoding, before: str = "") -> JsonObject:
    """Return the place of a blob's text. ``before`` is text that precedes it, as in a data URL."""
    return {_MARK: digest, "encoding": encoding, "before": before}


def with_blobs(item: JsonObject, fetch: Callable[[str], bytes]) -> JsonObject:
    """Return an item of a conversation with the texts of its blobs.

    Only items of the user and of tools are searched: our own code wrote all of their structure. In
    an item of the model's any JSON may be found, for example in the arguments of a call, and a
    model must not be able to name a blob that is then sent.
    """
    if item.get("role") not in ("user", "tool") and item.get("type") != "function_call_output":
        return item
    found: JsonValue = _filled(item, fetch)
    return found if isinstance(found, dict) else item


def _filled(value: JsonValue, fetch: Callable[[str], bytes]) -> JsonValue:
    if isinstance(value, dict):
        digest = value.get(_MARK)
        if isinstance(digest, str):
            return _text(value, fetch(digest))
        changed = {name: _filled(member, fetch) for name, member in value.items()}
        same = all(changed[name] is member for name, member in value.items())
        return value if same else changed
    if isinstance(value, list):
        items = [_filled(item, fetch) for item in value]
        return value if all(map(_is, items, value)) else items
    return value


def _is(one: object, other: object) -> bool:
    return one is other


def _text(place: JsonObject, data: bytes) -> str:
    encoded = place["encoding"] == "base64"
    text = base64.b64encode(data).decode() if encoded else data.decode("utf-8", "replace")
    return f"{place['before']}{text}"
