"""A run record by record: what each one says, who did it, and the state at that point."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from artificer.builds.summary import happened, job_in_words
from artificer.core import events as ev
from artificer.core.intents import AdvanceBuild, AskApproval, CallTool, Compact, Finish, Generate
from artificer.core.record import EventLine, Line
from artificer.core.state import CallState, RunState
from artificer.core.transitions import reduce
from artificer.studio.words import count
from artificer.values.text import clip

PAGE = 200
"""Records on one page."""

MAX_SUMMARY = 160
MAX_BODY = 50_000
MAX_STRING = 8_000
"""Characters of a record that are shown, in all and of each text."""

MAX_ITEMS = 50
"""Calls, artifacts and others of a state that are named."""


class RecordEntry(NamedTuple):
    """A record in a list. ``at`` is 0 for an intent, which has no time of its own."""

    seq: int
    at: int
    kind: str
    name: str
    actor: str
    summary: str


class StateFact(NamedTuple):
    """One fact of a state; ``changed`` says that this record changed it."""

    name: str
    value: str
    changed: bool


@dataclass(frozen=True)
class Moment:
    """A record with the state after it. ``hash`` is what the next record calls it."""

    entry: RecordEntry
    body: str
    prev: str
    hash: str
    state: str
    facts: tuple[StateFact, ...]
    editable: str | None = None


def entries(lines: Iterable[Line]) -> Iterator[RecordEntry]:
    """Describe each record in a line."""
    tools: dict[int, str] = {}
    for line in lines:
        if isinstance(line, EventLine):
            event = line.event
            actor, summary = _actor(event, tools), clip(_of_event(event, tools), MAX_SUMMARY)
            yield RecordEntry(line.seq, event.at, "event", event.type, actor, summary)
        else:
            intent = line.intent
            if isinstance(intent, (CallTool, AskApproval)):
                tools[intent.n] = intent.tool
            summary = clip(_of_intent(intent), MAX_SUMMARY)
            yield RecordEntry(line.seq, 0, "intent", intent.type, "", summary)


def moment(lines: Sequence[Line], seq: int) -> Moment:
    """Return the record with this number, which is one of ``lines``, and the state after it."""
    before = after = RunState()
    for line in lines[:seq]:
        before = after
        if isinstance(line, EventLine):
            after, _ = reduce(before, line.event)
    line = lines[seq - 1]
    entry = list(entries(lines[:seq]))[-1]
    returned = line.event if isinstance(line, EventLine) else None
    return Moment(
        entry,
        _shown(line),
        line.prev,
        lines[seq].prev if seq < len(lines) else "",
        after.digest,
        tuple(_compared(before, after)),
        returned.content if isinstance(returned, ev.ToolReturned) else None,
    )


def _shown(line: Line) -> str:
    shown = line.event if isinstance(line, EventLine) else line.intent
    return clip(json.dumps(_short(shown.to_json()), ensure_ascii=False, indent=2), MAX_BODY)


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return clip(value, MAX_STRING)
    if isinstance(value, dict):
        return {name: _short(member) for name, member in value.items()}
    return [_short(item) for item in value] if isinstance(value, list) else value


def _compared(before: RunState, after: RunState) -> Iterator[StateFact]:
    old, new = dict(_facts(before)), dict(_facts(after))
    for name, value in new.items():
        if value or old.get(name):
            yield StateFact(name, value, value != old.get(name))


def _facts(state: RunState) -> Iterator[tuple[str, str]]:
    yield "Stands", state.standing if state.spec else ""
    yield "Phase", state.phase.value
    yield "Turn", str(state.turn)
    yield "Messages", str(len(state.history))
    yield "Tokens", f"{state.usage.input_tokens:,} in, {state.usage.output_tokens:,} out"
    yield "Cost", "" if state.cost_micros is None else f"${state.cost_micros / 1_000_000:.4f}"
    yield "Pending", _listed(f"{p.type} {p.n}" for p in state.pending)
    yield "Calls", _listed(map(_call, state.calls))
    yield "Sources", _listed(f"{source.label}: {source.status}" for source in state.sources)
    yield "Artifacts", _listed(f"{ref.kind}:{ref.id}" for ref in state.artifacts)
    yield "In doubt", _listed(doubt.tool for doubt in state.doubts)
    yield "Holds", state.hold or ""
    yield "Ended", state.reason or ""
    if state.build is not None:
        yield "Merged", _listed(state.build.merged)
        yield "Open jobs", _listed(job.type for job in state.build.open)


def _call(call: CallState) -> str:
    return f"{call.verdict.tool if call.verdict else call.id}: {call.status or 'open'}"


def _listed(items: Iterable[str]) -> str:
    found = list(items)
    more = f" and {len(found) - MAX_ITEMS} more" if len(found) > MAX_ITEMS else ""
    return clip(", ".join(found[:MAX_ITEMS]) + more, MAX_STRING)


def _actor(event: ev.Event, tools: dict[int, str]) -> str:
    """Return who or what brought an event about."""
    match event:
        case ev.ModelResponded(model=model) | ev.ContextCompacted(model=model):
            return model
        case ev.ToolReturned(intent=intent):
            return tools.get(intent, "")
        case ev.BuildAdvanced(fact=fact):
            return getattr(fact, "by", "")
        case _:
            return getattr(event, "by", "")


def _of_event(event: ev.Event, tools: dict[int, str]) -> str:
    match event:
        case ev.PromptReceived(spec=spec):
            words = spec.prompt
        case ev.ModelResponded(blocks=blocks):
            shown = [getattr(b, "text", "") or getattr(b, "name", "") for b in blocks]
            words = " · ".join(filter(None, shown))
        case ev.ModelFailed(code=code, message=message):
            words = f"{code}: {message}"
        case ev.CallsJudged(verdicts=verdicts):
            words = ", ".join(f"{v.tool}: {v.verdict}" for v in verdicts)
        case ev.ApprovalAnswered(approved=approved, reason=reason, intent=n):
            words = f"{tools.get(n, '')} {'approved' if approved else 'denied'} {reason}"
        case ev.ToolReturned(status=status, content=content):
            words = f"{status}: {content}"
        case ev.ReplyChecked(request=request):
            words = f"sent back: {request}" if request else "accepted"
        case ev.RunForked(origin=origin, steer=steer):
            words = f"from {origin.run}, record {origin.seq} {steer}"
        case ev.BuildAdvanced(fact=fact):
            words = f"{fact.type} {happened(fact)}"
        case ev.RunFinished(status=status):
            words = status
        case _:
            words = str(getattr(event, "text", "") or getattr(event, "reason", ""))
    return words


def _of_intent(intent: Any) -> str:
    match intent:
        case Generate(turn=turn, messages=messages):
            return f"turn {turn}, {count(messages, 'message')}"
        case Compact(upto=upto):
            return f"{count(upto, 'message')} left out"
        case CallTool(tool=tool, arguments=arguments) | AskApproval(tool=tool, arguments=arguments):
            return f"{tool} {arguments}"
        case AdvanceBuild(wish=job):
            return job_in_words(job)
        case Finish(reason=reason):
            return reason
        case _:
            return ""
