"""Running a recorded run again: the same program, with everything from outside as it was recorded.

A replay goes on from the recorded verdicts and checks. A re-run makes them anew: it drives the
engine of this release with the recorded replies, results and answers, and every request must come
out as it was. What differs is what this release does differently.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from artificer.contracts.definition import ToolDefinition
from artificer.contracts.response_format import OutputCheck
from artificer.core import events as ev
from artificer.core.facts import WHOLE, Judges
from artificer.core.intents import AskApproval, CallTool, Compact, Generate
from artificer.core.policy import Consult
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import RunSpec
from artificer.core.state import Phase, RunState
from artificer.errors import ArtificerError
from artificer.ports import Answer, BlobStore, Call, Payload, Provider, Question, Receipt
from artificer.providers.recorded import RecordedProvider
from artificer.recordings.recording import answer_of
from artificer.runtime.engine import Engine
from artificer.runtime.load import Line, Loaded, load
from artificer.runtime.perform import Performer
from artificer.runtime.post import Post
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal
from artificer.values.base import Problem
from artificer.values.model import Delta, ModelFailure, ModelReply

RUN = "rerun"


@dataclass
class Tape:
    """What came from outside, by what it answers. ``ended`` is called where the tape ends."""

    replies: dict[str, deque[ModelReply | ModelFailure]]
    receipts: dict[str, Receipt]
    answers: dict[str, deque[Answer]]
    began: int
    ended: Callable[[], None] = field(default=lambda: None)

    async def end(self) -> None:
        """The recorded run came no further: stop this one, and wait to be ended."""
        self.ended()
        await asyncio.get_running_loop().create_future()

    def now(self) -> int:
        """When the run began, always: how long something takes is no fact of this release."""
        return self.began

    def new_run_id(self) -> str:
        """The one run of a re-run."""
        return RUN


class _Model(RecordedProvider):
    """Answers each request as it was answered, several times if it was asked several times."""

    def __init__(self, original: Provider, tape: Tape) -> None:
        super().__init__(original, {})
        self._tape = tape

    async def generate(
        self, payload: Payload, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        waiting = self._tape.replies.get(self.asked(payload))
        if not waiting:
            await self._tape.end()
            raise AssertionError("the tape has ended")
        return waiting.popleft()


class _Tools:
    """Gives every call the result that it had."""

    def __init__(self, spec: RunSpec, tape: Tape) -> None:
        self.tools: tuple[ToolDefinition, ...] = spec.tools().tools
        self._tape = tape

    async def execute(self, call: Call) -> Receipt:
        """Return what the call came to."""
        if call.id not in self._tape.receipts:
            await self._tape.end()
        return self._tape.receipts[call.id]


class _Person:
    """Answers every question as it was answered."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def ask(self, question: Question) -> Answer:
        """Return the answer about this very call."""
        waiting = self._tape.answers.get(question.digest)
        if not waiting:
            await self._tape.end()
            raise AssertionError("the tape has ended")
        return waiting.popleft()


async def rerun(
    recorded: Loaded, blobs: BlobStore, provider: Provider, consult: Consult | None = None
) -> list[str]:
    """Run a recorded run again and say what came out differently; empty when nothing did.

    ``provider`` maps requests as the recorded one did. No model is asked and no tool runs. A run
    that people wrote letters to is not run again: when they came is no fact of the program. Nor is
    a build, which asks no model: replaying it is the proof, and each of its runs is a run.
    """
    if recorded.state.build is not None:
        return []
    if any(isinstance(e, EventLine) and getattr(e.event, "letter", 0) for e in recorded.lines):
        return []
    tape = read_tape(recorded, blobs)
    again = await _drive(recorded, tape, blobs, provider, consult)
    if isinstance(again, str):
        return [again]
    faults = _requests(recorded, again)
    ours, theirs = again.state, recorded.state
    decided_here = theirs.phase is Phase.FINISHED and theirs.reason not in _FROM_OUTSIDE
    same = (ours.status, ours.deliverable) == (theirs.status, theirs.deliverable)
    if not faults and decided_here and not same:
        faults.append(f"it delivers {ours.status} {ours.deliverable}, not {theirs.deliverable}")
    return faults


_FROM_OUTSIDE = ("cancelled", "wall_limit")
"""Endings that a person or the time decided, not the program."""


async def _drive(
    recorded: Loaded,
    tape: Tape,
    blobs: BlobStore,
    provider: Provider,
    consult: Consult | None,
) -> Loaded | str:
    spec = recorded.state.given
    journal, ours = MemoryJournal(), _Over(blobs)
    tools = _Tools(spec, tape)
    performer = Performer(
        provider=_Model(provider, tape),
        executors={tool.name: tools for tool in tools.tools},
        approver=_Person(tape),
        blobs=ours,
        clock=tape,
    )
    judges = Judges(consult, _check_of(recorded))
    engine = Engine(journal, performer, Post(journal.mailbox), judges=judges)
    tape.ended = lambda: engine.stop(RUN, "")
    try:
        state = await _begin(engine, recorded.lines, spec)
        while state.phase is Phase.STALLED and any(tape.replies.values()):
            state = await engine.resume(RUN)
        return await load(journal, ours, RUN)
    except ArtificerError as error:
        return f"it cannot be run again: {error.message}"


def _check_of(recorded: Loaded) -> OutputCheck | None:
    """Return the caller's type as recorded: its answers are in the recording, it is not."""
    asked = recorded.state.given.response_format
    if asked is None or not asked.type:
        return None
    checked = [
        line.event
        for line in recorded.lines
        if isinstance(line, EventLine) and isinstance(line.event, ev.ReplyChecked)
    ]
    said = {
        event.narrative: tuple(
            Problem(pointer="" if f.subject == WHOLE else f.subject, message=f.message)
            for f in event.findings
        )
        for event in checked
    }
    return lambda text: said.get(text, ())


async def _begin(engine: Engine, lines: Sequence[Line], spec: RunSpec) -> RunState:
    """Start it as it was started; a fork takes over the facts that it once took over."""
    events = [line.event for line in lines if isinstance(line, EventLine)]
    forks = [number for number, event in enumerate(events) if isinstance(event, ev.RunForked)]
    if not forks:
        return await engine.start(RUN, spec)
    forked = events[forks[-1]]
    assert isinstance(forked, ev.RunForked)
    return await engine.fork(RUN, events[: forks[-1]], forked)


def read_tape(recorded: Loaded, blobs: BlobStore) -> Tape:
    """Put together what came from outside in a recorded run."""
    first = recorded.lines[0]
    began = first.event.at if isinstance(first, EventLine) else 0
    tape = Tape(defaultdict(deque), {}, defaultdict(deque), began)
    requests: dict[int, str] = {}
    asked: dict[int, CallTool | AskApproval] = {}
    for line in recorded.lines:
        if isinstance(line, IntentLine):
            if line.request:
                requests[line.intent.n] = line.request
            elif isinstance(line.intent, CallTool | AskApproval):
                asked[line.intent.n] = line.intent
            continue
        match line.event:
            case (
                ev.ModelResponded()
                | ev.ModelFailed()
                | ev.ContextCompacted()
                | ev.CompactionFailed() as event
            ):
                if event.intent in requests:
                    tape.replies[requests[event.intent]].append(answer_of(event, blobs))
            case ev.ToolReturned() as event:
                tape.receipts[asked[event.intent].call_id] = _receipt(event, blobs)
            case ev.ApprovalAnswered() as event:
                question = asked[event.intent]
                assert isinstance(question, AskApproval)
                answer = Answer(event.approved, event.by, event.reason)
                tape.answers[question.call].append(answer)
            case ev.RunForked():  # what stands before is not asked again
                tape = Tape(defaultdict(deque), {}, defaultdict(deque), began)
            case _:
                pass
    return tape


def _receipt(event: ev.ToolReturned, blobs: BlobStore) -> Receipt:
    content = event.content if event.whole is None else blobs.get(event.whole).decode()
    return Receipt(
        status=event.status, content=content, evidence=event.evidence, artifact=event.artifact
    )


def _requests(recorded: Loaded, again: Loaded) -> list[str]:
    """Compare the requests in their order. Where time ended the run, one more may follow."""
    theirs, ours = _asked(recorded.lines), _asked(again.lines)
    for number, (expected, actual) in enumerate(zip(theirs, ours, strict=False), 1):
        if expected != actual:
            return [f"request {number} is {actual}, not {expected}"]
    if len(ours) < len(theirs):
        return [f"it makes {len(ours)} requests, not {len(theirs)}"]
    if len(ours) > len(theirs) and recorded.state.reason not in _FROM_OUTSIDE:
        return [f"it makes {len(ours)} requests, not {len(theirs)}"]
    return []


def _asked(lines: Sequence[Line]) -> list[str | None]:
    return [
        line.request
        for line in lines
        if isinstance(line, IntentLine) and isinstance(line.intent, Generate | Compact)
    ]


class _Over(MemoryStore):
    """A store that keeps what is new to itself, and reads what was recorded."""

    def __init__(self, below: BlobStore) -> None:
        super().__init__()
        self._below = below

    def get(self, digest: str) -> bytes:
        """The bytes, from here or from the recording."""
        return super().get(digest) if super().has(digest) else self._below.get(digest)

    def has(self, digest: str) -> bool:
        """Whether the blob is here or in the recording."""
        return super().has(digest) or self._below.has(digest)
