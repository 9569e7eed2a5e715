"""Checking that what a run took as signals was posted to it, and says the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from artificer.core.intents import AskApproval
from artificer.core.record import EventLine, Line
from artificer.core.signal_events import follows, taken
from artificer.core.signals import read_signal
from artificer.ports import Journal, Signalled


async def check_signals(journal: Journal, run: str, lines: Sequence[Line]) -> list[str]:
    """Return what is wrong, one sentence each. Raises TamperedError for a changed signal."""
    if not isinstance(journal, Signalled) or not any(taken(lines)):
        return []
    posted = dict(await journal.signals.read(run))
    return list(_faults(run, lines, posted, await journal.unsigned(run)))


def _faults(
    run: str, lines: Sequence[Line], posted: dict[int, bytes], exempt: int
) -> Iterator[str]:
    intents = [line.intent for line in lines if not isinstance(line, EventLine)]
    calls = {intent.n: intent.call for intent in intents if isinstance(intent, AskApproval)}
    for line, number in taken(lines):
        if line.seq <= exempt:
            continue
        if number not in posted:
            yield f"Run {run}, record {line.seq} names signal {number}, which was never posted."
            continue
        call = calls.get(getattr(line.event, "intent", 0), "")
        if not follows(line.event, read_signal(posted[number]), call):
            yield f"Run {run}, record {line.seq} differs from its signal {number}."
