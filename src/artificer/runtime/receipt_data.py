"""The data of a tool's result, before they are recorded: exact, without secrets, within bounds."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from artificer.artifacts.binding.shape import data_line, first_rows, shape_of
from artificer.ports import Receipt
from artificer.runtime.cleaning import Clean
from artificer.values.canon import digest_of
from artificer.values.exact_json import InexactError, exact, parse
from artificer.values.text import head_and_tail, is_shortened

MAX_DATA_BYTES = 8 * 1024 * 1024
"""Bytes of the largest data that are kept."""


_SECRET = "it holds a secret where none can be removed"


class ReceiptData(Struct, frozen=True):
    """The data of a result as bytes, if they can be used, and the line about them.

    ``value`` is what the bytes say, for the first rows.
    """

    data: bytes | None = None
    line: str = ""
    value: Any = None

    def opening(self, limit: int) -> str:
        """Return the first rows, within a number of characters, or nothing."""
        return "" if self.data is None else first_rows(self.value, limit)

    def is_more_than(self, text: str) -> bool:
        """Whether an executor has shortened what it says, and the data have all of it."""
        return self.data is not None and len(self.data) > len(text) and is_shortened(text)


class Shown(Struct, frozen=True):
    """The text of a result that a model reads, and the bytes of all of it, if that is more."""

    content: str
    whole: bytes | None = None


def shown(text: str, found: ReceiptData, limit: int) -> Shown:
    """Return the part of a result that a model reads, of ``limit`` characters.

    Of a longer one these are the first rows of its data, if there are some, else its beginning
    and its end.
    """
    is_long = len(text) > limit
    rows = found.opening(limit) if is_long or found.is_more_than(text) else ""
    if not is_long and not rows:
        return Shown(text + found.line)
    whole = text.encode()
    content, named = head_and_tail(text, limit), digest_of(whole)
    if rows and found.data is not None:
        size, named = len(found.data), named if is_long else digest_of(found.data)
        content = f"The result is long: {size:,} bytes of data. Its first rows:\n{rows}"
    return Shown(f"{content}\n(the whole result is {named}){found.line}", whole)


NO_DATA = ReceiptData()


def data_of(receipt: Receipt, label: str, clean: Clean) -> ReceiptData:
    """Return the data of a receipt.

    An executor that says nothing about data, and has no evidence of its own, returns data if its
    content is a JSON object or array. The line says why data cannot be used.
    """
    text = receipt.data
    if text is None:
        if receipt.evidence is not None or receipt.content.lstrip()[:1] not in ("{", "["):
            return NO_DATA
        text = receipt.content
    try:
        value, data = _kept(text, clean)
    except InexactError as error:
        if receipt.data is None:
            return NO_DATA
        return ReceiptData(line=f"\n[Data: {label} cannot be bound: {error}]")
    return ReceiptData(data, f"\n{data_line(label, shape_of(value))}", value)


def _kept(text: str, clean: Clean) -> tuple[Any, bytes]:
    if len(text) > MAX_DATA_BYTES or len(data := text.encode()) > MAX_DATA_BYTES:
        size = f"its result has more than {MAX_DATA_BYTES:,} bytes"
        raise InexactError(size)
    value = parse(text)
    kept = exact(value)
    if "\\" in kept or clean(kept) != kept:
        value = _cleaned(value, clean)
        kept = exact(value)
        if clean(kept) != kept:
            raise InexactError(_SECRET)
    data = kept.encode()
    return value, data


def _cleaned(value: Any, clean: Clean) -> Any:
    """Return a value with every secret taken out of its texts."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]
    if isinstance(value, dict):
        members = {clean(name): _cleaned(member, clean) for name, member in value.items()}
        if len(members) != len(value):
            raise InexactError(_SECRET)
        return members
    if isinstance(value, msgspec.Raw) and clean(text := bytes(value).decode()) != text:
        raise InexactError(_SECRET)
    return value
