"""Checking that what a run took as signals was posted to it, and says the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from artificer.core.events import PromptReceived, RunForked
from artificer.core.intents import AskApproval
from artificer.core.record import EventLine, Line, events_of
from artificer.core.signal_events import follows
from artificer.core.signals import read_signal
from artificer.ports import Journal, Signalled


async def check_signals(journal: Journal, run: str, lines: Sequence[Line]) -> list[str]:
    """Return what is wrong, one sentence each. Raises TamperedError for a changed signal."""
    if not isinstance(journal, Signalled) or not any(_taken(lines)):
        return []
    posted = dict(await journal.signals.read(run))
    return list(_faults(run, lines, posted, await journal.unsigned(run)))


def last_taken(lines: Sequence[Line]) -> int:
    """The number of the last signal that a run took; 0 for none."""
    return max((number for _, number in _taken(lines)), default=0)


def was_submitted(lines: Sequence[Line]) -> bool:
    """Whether a run with these records was submitted to workers."""
    first = events_of(lines[:1])
    return any(isinstance(e, PromptReceived) and e.spec.submission is not None for e in first)


def _taken(lines: Sequence[Line]) -> Iterator[tuple[EventLine, int]]:
    """The events that name a signal. A fork took over those before it with its origin's facts."""
    forks = [n for n, line in enumerate(lines) if _is_fork(line)]
    for line in lines[forks[-1] if forks else 0 :]:
        if isinstance(line, EventLine) and (number := getattr(line.event, "letter", 0)):
            yield line, number


def _is_fork(line: Line) -> bool:
    return isinstance(line, EventLine) and isinstance(line.event, RunForked)


def _faults(
    run: str, lines: Sequence[Line], posted: dict[int, bytes], exempt: int
) -> Iterator[str]:
    intents = [line.intent for line in lines if not isinstance(line, EventLine)]
    calls = {intent.n: intent.call for intent in intents if isinstance(intent, AskApproval)}
    for line, number in _taken(lines):
        if line.seq <= exempt:
            continue
        if number not in posted:
            yield f"Run {run}, record {line.seq} names signal {number}, which was never posted."
            continue
        call = calls.get(getattr(line.event, "intent", 0), "")
        if not follows(line.event, read_signal(posted[number]), call):
            yield f"Run {run}, record {line.seq} differs from its signal {number}."
