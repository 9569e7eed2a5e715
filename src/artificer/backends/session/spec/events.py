"""Unsolicited output of a program: a bounded queue of typed lines. Pure: time is an argument."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from artificer.backends.session.spec.keys import EventKeys, EventType
from artificer.backends.session.spec.line import matches
from artificer.backends.session.spec.terminal_text import plain
from artificer.values.base import Text, Value
from artificer.values.text import clip

MAX_EVENT = 2_000
"""Characters of one event."""

MAX_UNFINISHED = 4 * MAX_EVENT
"""Characters of a line without an end that are kept, the last ones: a bar of progress grows."""

BELL = "\a"
"""The BEL character, which a program writes to call for attention."""

_TROUBLE = re.compile(r"(?i)\b(error|fatal|fail(ed|ure)?|panic|traceback|exception)\b")


class SessionEvent(Value):
    """One line of unsolicited output. ``timestamp`` is the time it was read, RFC 3339 in UTC."""

    event_type: EventType
    timestamp: str
    content: Text


class EventQueue:
    """The events that have not been reported."""

    def __init__(self, keys: EventKeys, prompts: Iterable[str], opens: str | None) -> None:
        """``prompts`` are patterns of unfinished lines that are not events, ``opens`` that of a
        child session that the program may open.
        """
        self._keys = keys
        self._prompts = tuple(prompts)
        self._opens = opens
        self._waiting: deque[tuple[float, SessionEvent]] = deque()
        self._unfinished = ""
        self._dropped = 0

    @property
    def poll_seconds(self) -> float:
        """How often the program is listened to."""
        return self._keys.poll_interval_ms / 1000

    def read(self, written: str, *, now: float, timestamp: str) -> None:
        """Take what a program has written at ``now``, in seconds of any clock."""
        *lines, unfinished = (self._unfinished + written).split("\n")
        self._unfinished = unfinished[-MAX_UNFINISHED:]
        for line in lines:
            self._add(line, now, timestamp)

    def drain(self, *, now: float, timestamp: str) -> tuple[tuple[SessionEvent, ...], int]:
        """The events, and how many others were too many or are too old by now."""
        if not any(matches(prompt, plain(self._unfinished.encode())) for prompt in self._prompts):
            self._add(self._unfinished, now, timestamp)
        fresh = tuple(e for at, e in self._waiting if now - at <= self._keys.ttl_seconds)
        dropped = self._dropped + len(self._waiting) - len(fresh)
        self._waiting.clear()
        self._unfinished, self._dropped = "", 0
        return fresh, dropped

    def _add(self, raw: str, now: float, timestamp: str) -> None:
        content = plain(raw.encode("utf-8", "replace")).strip()
        kind = self._type(raw, content)
        if not content or kind not in self._keys.event_types:
            return
        event = SessionEvent(event_type=kind, timestamp=timestamp, content=clip(content, MAX_EVENT))
        self._waiting.append((now, event))
        if len(self._waiting) > self._keys.max_queue_depth:
            self._waiting.popleft()
            self._dropped += 1

    def _type(self, raw: str, content: str) -> EventType:
        if self._opens is not None and matches(self._opens, content):
            return "session_opened"
        if BELL in raw:
            return "alert"
        return "error" if _TROUBLE.search(content) else "log_line"
