"""A run as the studio shows it: its recorded events, folded into turns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from artificer import events as ev
from artificer.values.base import Problem

SHOWN_TURNS = 100
"""Turns on one page; the earlier ones are on pages of their own."""

SHOWN_TEXT = 20_000
"""Characters of a call's result that a page shows."""


@dataclass
class CallView:
    """One call of a turn, and what became of it.

    ``judged`` and ``finished`` are the records of the verdict and of the receipt.
    """

    id: str
    tool: str
    arguments: str
    verdict: str
    reason: str = ""
    problems: tuple[Problem, ...] = ()
    status: str = ""
    content: str = ""
    duration_ms: int = 0
    progress: str = ""
    approved_by: str = ""
    judged: int = 0
    finished: int = 0


@dataclass
class TurnView:
    """One request to the model, the reply, and its calls; or the message of a person before it."""

    seq: int
    number: int = 0
    text: str = ""
    reasoning: str = ""
    note: str = ""
    failure: str = ""
    cost_micros: int | None = None
    tokens: int = 0
    calls: list[CallView] = field(default_factory=list)


@dataclass
class Transcript:
    """Everything that a run's page says about its course. ``seq`` is the last record's number,
    ``drafted`` that of the last one that changed the report.
    """

    prompt: str = ""
    seq: int = 0
    drafted: int = 0
    turns: list[TurnView] = field(default_factory=list)

    @property
    def shown(self) -> list[TurnView]:
        """The newest turns."""
        return self.turns[-SHOWN_TURNS:]

    @property
    def hidden(self) -> int:
        """How many turns are not shown."""
        return max(0, len(self.turns) - SHOWN_TURNS)


DRAFTING = (
    ev.ModelReplied,
    ev.ArtifactCreated,
    ev.ReplySentBack,
    ev.ItemTicked,
    ev.RunEnded,
)
"""Events after which the report may be another one."""


def transcript(events: Iterable[ev.RunEvent]) -> Transcript:
    """Fold the recorded events of a run."""
    found, calls = Transcript(), dict[str, CallView]()
    for event in events:
        found.seq = event.seq
        if isinstance(event, DRAFTING):
            found.drafted = event.seq
        _add(found, calls, event)
    return found


def _add(found: Transcript, calls: dict[str, CallView], event: ev.RunEvent) -> None:
    turn = found.turns[-1] if found.turns else TurnView(event.seq)
    match event:
        case ev.RunStarted(prompt=prompt):
            found.prompt = found.prompt or prompt
        case ev.TurnStarted(seq=seq, turn=number):
            found.turns.append(TurnView(seq, number))
        case ev.ModelReplied(text=text, usage=usage, cost_micros=cost, reasoning=reasoning):
            turn.text, turn.cost_micros = text, cost
            turn.reasoning = reasoning[:SHOWN_TEXT]
            turn.tokens = usage.input_tokens + usage.output_tokens
        case ev.ModelRequestFailed(code=code, message=message):
            turn.failure = f"{code}: {message}"
        case ev.CallJudged():
            call = CallView(
                event.call_id,
                event.tool,
                event.arguments or "",
                event.verdict,
                event.reason,
                event.problems,
                judged=event.seq,
            )
            calls[event.call_id] = call
            turn.calls.append(call)
        case ev.ApprovalReceived(call_id=call_id, approved=approved, by=by):
            if call_id in calls:
                word = "approved" if approved else "denied"
                calls[call_id].approved_by = f"{word} by {by or 'someone'}"
        case ev.CallStarted(call_id=id) | ev.CallResumed(call_id=id) if id in calls:
            calls[id].status = "running"
        case ev.CallSuspended(call_id=call_id, child=child) if call_id in calls:
            calls[call_id].status = "waiting"
            calls[call_id].content = f"It waits for run {child}."
        case ev.CallFinished(call_id=call_id) if call_id in calls:
            call = calls[call_id]
            call.status, call.duration_ms = event.status, event.duration_ms
            call.content, call.finished = event.content[:SHOWN_TEXT], event.seq
        case ev.ReplySentBack(request=request):
            turn.note = request
        case _:
            pass
