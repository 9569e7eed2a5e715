"""Running a recorded run again, with every outside input as it was recorded.

A replay starts from the recorded verdicts and checks. A re-run recomputes them: it drives this
release's engine with the recorded replies, tool results and approvals, and every request must have
the recorded digest. A difference shows what this release does differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from artificer.contracts.definition import ToolDefinition
from artificer.core import events as ev
from artificer.core.facts import WHOLE, Judges, OutputCheck
from artificer.core.intents import Compact, Generate
from artificer.core.policy import Consult
from artificer.core.record import EventLine, IntentLine, Line, events_of
from artificer.core.spec import RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.errors import ArtificerError
from artificer.ports import Answer, BlobStore, Call, PreparedRequest, Provider, Question, Receipt
from artificer.providers.chain import each
from artificer.providers.recorded import RecordedProvider
from artificer.recordings.inputs import RUN, RecordedInputs, inputs_of
from artificer.runtime.engine import Engine
from artificer.runtime.load import Loaded, first_spec_of, load
from artificer.runtime.notifier import SignalNotifier
from artificer.runtime.perform import Performer
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal
from artificer.values.base import Problem
from artificer.values.model import Delta, ModelFailure, ModelReply


class _RecordedModel(RecordedProvider):
    """Answers each request with its recorded replies, in order if it was sent several times."""

    def __init__(self, original: Provider, inputs: RecordedInputs) -> None:
        super().__init__(original, {})
        self._inputs = inputs

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        waiting = self._inputs.replies.get(self.digest(prepared))
        if not waiting:
            await self._inputs.exhausted()
            raise AssertionError("the recording has ended")
        return waiting.popleft()


class _RecordedTools:
    """Returns the recorded result of each call."""

    def __init__(self, spec: RunSpec, inputs: RecordedInputs) -> None:
        self.tools: tuple[ToolDefinition, ...] = spec.tools().tools
        self._inputs = inputs

    async def execute(self, call: Call) -> Receipt:
        """Return the recorded result of the call."""
        if call.id not in self._inputs.receipts:
            await self._inputs.exhausted()
        return self._inputs.receipts[call.id]


class _RecordedApprover:
    """Gives the recorded answer to each approval question."""

    def __init__(self, inputs: RecordedInputs) -> None:
        self._inputs = inputs

    async def ask(self, question: Question) -> Answer:
        """Return the recorded answer about this call."""
        waiting = self._inputs.answers.get(question.digest)
        if not waiting:
            await self._inputs.exhausted()
            raise AssertionError("the recording has ended")
        return waiting.popleft()


async def rerun(
    recorded: Loaded, blobs: BlobStore, provider: Provider, consult: Consult | None = None
) -> list[str]:
    """Run a recorded run again and return the differences, an empty list if there are none.

    ``provider`` maps requests as the recorded one did. No model is called and no tool runs. A run
    that received signals or late results is not run again, because their timing does not follow
    from the program. Neither is a build, which calls no model: its replay is the proof, and its
    child runs are tested one by one.
    """
    if recorded.state.build is not None:
        return []
    if any(isinstance(line, EventLine) and _came_by_itself(line.event) for line in recorded.lines):
        return []
    inputs = inputs_of(recorded, blobs)
    again = await _rerun(recorded, inputs, blobs, provider, consult)
    if isinstance(again, str):
        return [again]
    faults = _compare_requests(recorded, again)
    ours, theirs = again.state, recorded.state
    decided_here = theirs.phase is RunPhase.FINISHED and theirs.reason not in _EXTERNAL_REASONS
    same = (ours.status, ours.deliverable) == (theirs.status, theirs.deliverable)
    if not faults and decided_here and not same:
        faults.append(f"it delivers {ours.status} {ours.deliverable}, not {theirs.deliverable}")
    return faults


def _came_by_itself(event: ev.Event) -> bool:
    """Whether it is a signal, or a result that came after its call had ended."""
    return bool(getattr(event, "letter", 0)) or isinstance(event, ev.DoubtResolved)


_EXTERNAL_REASONS = ("cancelled", "wall_limit")
"""Reasons to end that a person or the clock decided, not the program."""


async def _rerun(
    recorded: Loaded,
    inputs: RecordedInputs,
    blobs: BlobStore,
    provider: Provider,
    consult: Consult | None,
) -> Loaded | str:
    spec = first_spec_of(recorded)
    journal, ours = MemoryJournal(), _OverlayStore(blobs)
    tools = _RecordedTools(spec, inputs)
    performer = Performer(
        provider=each(provider, lambda model: _RecordedModel(model, inputs)),
        executors={tool.name: tools for tool in tools.tools},
        approver=_RecordedApprover(inputs),
        blobs=ours,
        clock=inputs,
        duration_of=inputs.duration_of,
    )
    judges = Judges(consult, _check_of(recorded))
    engine = Engine(journal, performer, SignalNotifier(journal.signals), judges=judges)
    inputs.on_exhausted = lambda: engine.stop(RUN, "")
    try:
        state = await _begin(engine, recorded.lines, spec)
        while state.phase is RunPhase.STALLED and any(inputs.replies.values()):
            state = await engine.resume(RUN)
        return await load(journal, ours, RUN)
    except ArtificerError as error:
        return f"the re-run failed: {error.message}"


def _check_of(recorded: Loaded) -> OutputCheck | None:
    """Return the recorded verdicts of the agent's own code; the code itself is not recorded."""
    if not recorded.state.run_spec.checked_by:
        return None
    checked = [
        line.event
        for line in recorded.lines
        if isinstance(line, EventLine) and isinstance(line.event, ev.ReplyChecked)
    ]
    verdicts = {
        event.narrative: tuple(
            Problem(pointer="" if f.subject == WHOLE else f.subject, message=f.message)
            for f in event.findings
        )
        for event in checked
    }
    return _RecordedCheck(verdicts)


@dataclass(frozen=True)
class _RecordedCheck:
    """The recorded verdicts, by reply."""

    verdicts: dict[str, tuple[Problem, ...]]

    async def problems(self, text: str) -> tuple[Problem, ...]:
        """Return the recorded violations of a reply."""
        return self.verdicts.get(text, ())

    async def value(self, text: str) -> str:
        """Return the reply: a recording holds no other value."""
        return text


async def _begin(engine: Engine, lines: Sequence[Line], spec: RunSpec) -> RunState:
    """Start the run as it was started. A fork copies the same facts again."""
    events = events_of(lines)
    forks = [number for number, event in enumerate(events) if isinstance(event, ev.RunForked)]
    if not forks:
        return await engine.start(RUN, spec)
    forked = events[forks[-1]]
    assert isinstance(forked, ev.RunForked)
    return await engine.fork(RUN, events[: forks[-1]], forked)


def _compare_requests(recorded: Loaded, again: Loaded) -> list[str]:
    """Compare the requests in order. One more may follow if a person or the clock ended the run."""
    theirs, ours = _request_digests(recorded.lines), _request_digests(again.lines)
    for number, (expected, actual) in enumerate(zip(theirs, ours, strict=False), 1):
        if expected not in (actual, None):  # None: what cancelled the run did not know its form
            return [f"request {number} is {actual}, not {expected}"]
    if len(ours) < len(theirs):
        return [f"it makes {len(ours)} requests, not {len(theirs)}"]
    if len(ours) > len(theirs) and recorded.state.reason not in _EXTERNAL_REASONS:
        return [f"it makes {len(ours)} requests, not {len(theirs)}"]
    return []


def _request_digests(lines: Sequence[Line]) -> list[str | None]:
    return [
        line.request
        for line in lines
        if isinstance(line, IntentLine) and isinstance(line.intent, (Generate, Compact))
    ]


class _OverlayStore(MemoryStore):
    """A store that keeps new blobs in memory and reads recorded ones from the store below."""

    def __init__(self, below: BlobStore) -> None:
        super().__init__()
        self._below = below

    def get(self, digest: str) -> bytes:
        """Return the bytes, from memory or from the recording."""
        return super().get(digest) if super().has(digest) else self._below.get(digest)

    def has(self, digest: str) -> bool:
        """Return whether the blob is in memory or in the recording."""
        return super().has(digest) or self._below.has(digest)
