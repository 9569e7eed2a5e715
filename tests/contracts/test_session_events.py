"""The queue of events that a session's program sends on its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.session.spec.events import MAX_EVENT, MAX_UNFINISHED, EventQueue
from artificer.backends.session.spec.keys import EventKeys

pytestmark = pytest.mark.req("session-events")


def told(queue: EventQueue, now: float = 0.0) -> tuple[list[tuple[str, str]], int]:
    """The types and contents of the events, and how many were lost."""
    events, lost = queue.drain(now=now, timestamp="t")
    return [(event.event_type, event.content) for event in events], lost


def test_lines_are_typed_and_a_prompt_is_none() -> None:
    queue = EventQueue(EventKeys(), ["^> $"], r"session \d+ opened")
    queue.read("all well\nlook!\a\nsession 3 opened\n", now=0, timestamp="t")
    queue.read("disk fail", now=0, timestamp="t")
    queue.read("ure\n\n\x1b[31mred\x1b[0m\n> ", now=0, timestamp="t")
    assert told(queue) == (
        [
            ("log_line", "all well"),
            ("alert", "look!"),
            ("session_opened", "session 3 opened"),
            ("error", "disk failure"),
            ("log_line", "red"),
        ],
        0,
    )
    assert told(queue) == ([], 0)


def test_only_the_wanted_types_the_newest_and_the_fresh_are_kept() -> None:
    keys = EventKeys(event_types=("error",), max_queue_depth=2, ttl_seconds=10)
    queue = EventQueue(keys, [], None)
    for second in range(4):
        queue.read(f"error {second}\nnoise\n", now=second, timestamp="t")
    assert told(queue, now=12.5) == ([("error", "error 3")], 3)


def test_of_a_line_that_has_no_end_only_the_end_is_kept() -> None:
    queue = EventQueue(EventKeys(), ["^> $"], None)
    for piece in ("failed ", "=" * MAX_UNFINISHED):
        queue.read(piece, now=0, timestamp="t")
    assert told(queue) == ([("log_line", "=" * (MAX_EVENT - 1) + "…")], 0)
    for piece in ("\r1 %" + "=" * MAX_UNFINISHED, "\rdone\n", "2 %\r> "):
        queue.read(piece, now=0, timestamp="t")
    assert told(queue) == ([("log_line", "done")], 0)


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(1, 5))
def test_whatever_is_heard_stays_within_bounds(pieces: list[str], depth: int) -> None:
    queue = EventQueue(EventKeys(max_queue_depth=depth), ["^> $"], "opened")
    for piece in (*pieces, "x" * 5_000 + "\n"):
        queue.read(piece, now=0, timestamp="t")
    events, lost = queue.drain(now=0, timestamp="t")
    assert len(events) <= depth + 1 and lost >= 0
    assert all(event.content and len(event.content) <= MAX_EVENT for event in events)
