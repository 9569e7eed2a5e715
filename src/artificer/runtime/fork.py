"""Planning a fork: which facts of a run another one begins with, and what is changed of them.

A fork's journal holds the facts of its origin up to a boundary, reduced again under its own spec,
then ``RunForked``, then whatever it does by itself. So it replays like any other run, alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artificer.core import events as ev
from artificer.core.record import EventLine, Line
from artificer.core.spec import RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.core.transitions import reduce
from artificer.errors import NotFoundError, OperatorError
from artificer.ports import Attachment, Journal
from artificer.runtime.proving.bindings import binding_in
from artificer.values.parameters import named_parameters

_SETTLED = (RunPhase.GENERATING, RunPhase.STALLED, RunPhase.BUILDING, RunPhase.FINISHED)
"""Nothing is pending but a request to the model: every call of every turn is answered. What a build
has open is started again."""


@named_parameters()
@dataclass(frozen=True)
class ForkChanges:
    """Where a fork begins, and what is changed.

    ``at`` is the last record of the origin that may be taken. Without it the fork begins as late as
    the changes allow. ``prompt`` replaces the prompt, ``edits`` the content of tool results, by the
    number of their record; ``steer`` is a message to the model before its next turn, with its
    ``attachments``. With ``from_start`` nothing but the prompt is taken.
    """

    at: int | None = None
    edits: Mapping[int, str] | None = None
    steer: str = ""
    prompt: str | None = None
    from_start: bool = False
    attachments: Sequence[Attachment] = ()


@dataclass(frozen=True)
class ForkPlan:
    """The facts to begin with. ``boundary`` is the last record that is taken."""

    facts: tuple[ev.Event, ...]
    boundary: int
    edited: tuple[int, ...]


def plan_fork(lines: Sequence[Line], changes: ForkChanges, spec: RunSpec) -> ForkPlan:
    """Choose the boundary and edit the facts.

    Raises:
        NotFoundError: the run has no such record.
        OperatorError: the record cannot be edited, or stands behind the boundary.
    """
    edits = dict(changes.edits or {})
    for seq in (*edits, *([] if changes.at is None else [changes.at])):
        if not 1 <= seq <= len(lines):
            raise NotFoundError(
                f"The run has no record {seq}; it has {len(lines)}.",
                hint="`artificer show` lists them.",
            )
    settled = [seq for seq, phase in _settled(lines) if _usable(phase, changes)]
    boundary = _choose(settled, changes, edits)
    late = [seq for seq in edits if seq > boundary]
    if late:
        raise OperatorError(
            f"Record {late[0]} cannot be edited: records are copied up to {boundary}.",
            hint="Name a later record with --at, or none.",
        )
    _check_bound(lines[:boundary], edits)
    facts = tuple(
        _edited(line, edits.get(line.seq), spec)
        for line in lines[:boundary]
        if isinstance(line, EventLine) or line.seq in edits
    )
    return ForkPlan(facts, boundary, tuple(sorted(edits)))


def _check_bound(lines: Sequence[Line], edits: Mapping[int, str]) -> None:
    """Refuse to take over an artifact without the data that it is bound to."""
    state, edited = RunState(), dict[str, int]()
    for line in lines if edits else ():
        if not isinstance(line, EventLine):
            continue
        event = line.event
        if isinstance(event, ev.ToolReturned) and line.seq in edits:
            found = next((p.call_id for p in state.pending if p.n == event.intent), "")
            edited[found] = line.seq
        elif isinstance(event, ev.CallsJudged):
            changed = {s.label: edited[s.call_id] for s in state.sources if s.call_id in edited}
            for verdict in event.verdicts:
                made = binding_in(verdict)
                if made and made[1] in changed:
                    raise OperatorError(
                        f"{made[0]}, made at record {line.seq}, is bound to record"
                        f" {changed[made[1]]}, which is edited.",
                        hint=f"Fork before it was made: --at {line.seq - 1}.",
                    )
        state, _ = reduce(state, event)


async def origin_of(
    journal: Journal, run: str, plan: ForkPlan, before: RunSpec, spec: RunSpec
) -> ev.Origin:
    """Say where a fork comes from, and what is not as it was recorded there."""
    (record,) = await journal.read(run, plan.boundary - 1, limit=1)
    changed = [
        name for name in RunSpec.field_names() if getattr(before, name) != getattr(spec, name)
    ]
    changed += [f"record {seq}" for seq in plan.edited]
    return ev.Origin(run=run, seq=record.seq, hash=record.hash, changed=tuple(changed))


def _usable(phase: RunPhase, changes: ForkChanges) -> bool:
    """A finished run continues only with a new message to its model."""
    return phase is not RunPhase.FINISHED or bool(changes.steer or changes.attachments)


def _settled(lines: Sequence[Line]) -> list[tuple[int, RunPhase]]:
    state, found = RunState(), list[tuple[int, RunPhase]]()
    for line in lines:
        if isinstance(line, EventLine):
            state, _ = reduce(state, line.event)
            if state.phase in _SETTLED:
                found.append((line.seq, state.phase))
    return found


def _choose(settled: list[int], changes: ForkChanges, edits: Mapping[int, str]) -> int:
    """The last boundary up to ``at``; without it, the first that holds all that is changed."""
    if changes.at is not None:
        found = [seq for seq in settled if seq <= changes.at]
    elif edits:
        found = [seq for seq in settled if seq >= max(edits)][:1]
    else:
        found = settled[:1] if changes.from_start else settled
    if not found:
        raise OperatorError(
            "The run has unanswered calls at that record, so it cannot be forked there.",
            hint="Resume it first, or name an earlier record with --at.",
        )
    return found[-1]


def _edited(line: Line, content: str | None, spec: RunSpec) -> ev.Event:
    if isinstance(line, EventLine):
        event = line.event
        if isinstance(event, ev.PromptReceived) and content is None:
            return event.replace(spec=spec)
        if content is None:
            return event
        if isinstance(event, ev.ToolReturned):
            return event.replace(content=content, whole=None, data=None)
    what = line.event.type if isinstance(line, EventLine) else line.intent.type
    raise OperatorError(
        f"Record {line.seq} is a {what}; only a tool's result can be edited.",
        hint="`artificer show` lists the records; --prompt changes the prompt.",
    )
