"""The events of a run as a stream for browsers and programs: server-sent events."""

from __future__ import annotations

from starlette.requests import Request

EVENT_STREAM = "text/event-stream"

MAX_DIGITS = 16
"""Digits of a record's number."""


def after_of(request: Request, wanted: int) -> int:
    """Return the record to continue from: the last one that the reader has seen, or ``wanted``."""
    return number_in(request.headers.get("last-event-id", ""), wanted)


def number_in(text: str, otherwise: int) -> int:
    """Return the whole number that a text is, or ``otherwise``."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    return int(text) if is_number else otherwise
