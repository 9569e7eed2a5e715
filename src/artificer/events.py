"""The events of a run for programs that follow it: the CLI, a web page, a caller's own code.

Most come from records of the journal and carry the record's number, ``seq``. Partial
text and arguments, and reports of progress, are not journaled; their ``seq`` is that of the last
record before them.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from artificer.artifacts.ref import ArtifactRef
from artificer.core.intents import FinishReason
from artificer.core.verdict import VerdictWord
from artificer.core.waits import IdleStanding
from artificer.ports import Question
from artificer.values.base import Digest, Problem, Text, Value, ValueReader
from artificer.values.blocks import CallStatus
from artificer.values.model import (
    FailureCode,
    StopReason,
    Usage,
)


class _RunEvent(Value, tag_field="type"):
    run: str
    seq: int


class RunStarted(_RunEvent):
    """The run starts, or a process resumes it (``resumed``)."""

    type: ClassVar[Literal["run_started"]] = "run_started"
    kind: str = ""
    provider: str = ""
    model: str = ""
    prompt: Text = ""
    resumed: bool = False


class TurnStarted(_RunEvent):
    """A request is sent to the model."""

    type: ClassVar[Literal["turn_started"]] = "turn_started"
    turn: int


class TextStreamed(_RunEvent):
    """A piece of the model's text."""

    type: ClassVar[Literal["text"]] = "text"
    text: Text


class ReasoningStreamed(_RunEvent):
    """A piece of the model's reasoning, if the provider shows it."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: Text


class ArgumentsStreamed(_RunEvent):
    """A piece of a call's arguments. ``index`` counts the calls of the reply."""

    type: ClassVar[Literal["arguments"]] = "arguments"
    index: int
    tool: Text
    text: Text


class ModelDelayed(_RunEvent):
    """The request failed with ``code``, and is retried at ``until``; not journaled.

    ``until`` is in milliseconds since 1970-01-01 UTC; ``attempt`` is the next one of ``attempts``.
    Discard text, reasoning and arguments that the request had streamed. With a ``limit`` nothing
    was sent yet: the request waits until then, or until that limit allows it.
    """

    type: ClassVar[Literal["model_delayed"]] = "model_delayed"
    code: FailureCode
    until: int
    attempt: int
    attempts: int
    limit: Text = ""


class ModelReplied(_RunEvent):
    """The reply of a turn is complete. ``usage`` and ``cost_micros`` are those of this request.

    ``reasoning`` is the readable part of the model's reasoning, if there is one.
    """

    type: ClassVar[Literal["model_replied"]] = "model_replied"
    text: Text
    usage: Usage
    cost_micros: int | None = None
    attempts: int = 1
    duration_ms: int = 0
    stop: StopReason = "end_turn"
    reasoning: Text = ""


class ModelRequestFailed(_RunEvent):
    """There is no reply, after all attempts."""

    type: ClassVar[Literal["model_failed"]] = "model_failed"
    code: FailureCode
    message: Text
    attempts: int = 1


class ModelChanged(_RunEvent):
    """Another model of the run's list takes over, since ``failed`` (``provider/model``) did not
    answer. ``code`` is why; text that it had streamed does not count.
    """

    type: ClassVar[Literal["model_changed"]] = "model_changed"
    provider: str
    model: str
    failed: str
    code: str


class CallJudged(_RunEvent):
    """The gate's verdict about a call. ``arguments`` is canonical JSON, if they could be read."""

    type: ClassVar[Literal["call_judged"]] = "call_judged"
    call_id: str
    tool: str
    verdict: VerdictWord
    arguments: Text | None = None
    reason: Text = ""
    problems: tuple[Problem, ...] = ()


class ApprovalRequested(_RunEvent):
    """A call waits for a person. Answer its digest: ``agent.approve(run, digest)``."""

    type: ClassVar[Literal["approval_requested"]] = "approval_requested"
    call_id: str
    tool: str
    arguments: Text
    reason: Text
    digest: Digest

    @property
    def question(self) -> Question:
        """The question as an approver reads it."""
        return Question(self.run, self.tool, self.arguments, self.reason, self.digest)


class ApprovalReceived(_RunEvent):
    """A person answered."""

    type: ClassVar[Literal["approval_received"]] = "approval_received"
    call_id: str
    tool: str
    approved: bool
    by: Text
    reason: Text


class CallStarted(_RunEvent):
    """A call starts."""

    type: ClassVar[Literal["call_started"]] = "call_started"
    call_id: str
    tool: str
    arguments: Text


class CallProgressed(_RunEvent):
    """A call in progress has reported its progress (`RunContext.progress`). Not journaled."""

    type: ClassVar[Literal["call_progressed"]] = "call_progressed"
    call_id: str
    tool: str
    message: Text
    done: int | None = None
    total: int | None = None


class CallSuspended(_RunEvent):
    """The run that a call started, ``child``, is idle before its end: the call waits with it."""

    type: ClassVar[Literal["call_suspended"]] = "call_suspended"
    call_id: str
    tool: str
    child: str
    standing: IdleStanding


class CallResumed(_RunEvent):
    """A suspended call continues, because its run can."""

    type: ClassVar[Literal["call_resumed"]] = "call_resumed"
    call_id: str
    tool: str


class CallFinished(_RunEvent):
    """A call ended, or was cancelled before it began. ``content`` is what the model reads."""

    type: ClassVar[Literal["call_finished"]] = "call_finished"
    call_id: str
    tool: str
    status: CallStatus
    content: Text
    duration_ms: int


class ArtifactCreated(_RunEvent):
    """The run has a new artifact, or a new version of one."""

    type: ClassVar[Literal["artifact_created"]] = "artifact_created"
    artifact: ArtifactRef


class ReplySentBack(_RunEvent):
    """A reply was rejected; ``request`` asks the model for another one."""

    type: ClassVar[Literal["reply_sent_back"]] = "reply_sent_back"
    request: Text


class BuildProgressed(_RunEvent):
    """Something happened in a build: a job started, or a fact about one arrived.

    ``what`` names it: ``StartRun`` or ``SpecMerged``; ``text`` says it in words.
    """

    type: ClassVar[Literal["build_progressed"]] = "build_progressed"
    what: str
    text: Text = ""


class ItemTicked(_RunEvent):
    """A person ticked off an item of a checklist, or took the tick back."""

    type: ClassVar[Literal["item_ticked"]] = "item_ticked"
    checklist: Text
    item: Text
    label: Text
    checked: bool
    by: Text = ""


class EventsMissed(_RunEvent):
    """The reader was slower than the run: ``count`` pieces of text, arguments or reports of
    progress were dropped.

    The complete reply follows in :class:`ModelReplied`. Records are never dropped.
    """

    type: ClassVar[Literal["events_missed"]] = "events_missed"
    count: int


class RunEnded(_RunEvent):
    """The run has ended, or is idle: stalled, paused, or waiting for a person.

    ``usage`` and ``cost_micros`` are those of the whole run.
    """

    type: ClassVar[Literal["run_ended"]] = "run_ended"
    status: str
    text: Text = ""
    reason: FinishReason | None = None
    failure: FailureCode | None = None
    usage: Usage = Usage()
    cost_micros: int | None = None


RunEvent = (
    RunStarted
    | TurnStarted
    | TextStreamed
    | ReasoningStreamed
    | ArgumentsStreamed
    | ModelDelayed
    | ModelReplied
    | ModelRequestFailed
    | ModelChanged
    | CallJudged
    | ApprovalRequested
    | ApprovalReceived
    | CallStarted
    | CallProgressed
    | CallSuspended
    | CallResumed
    | CallFinished
    | ArtifactCreated
    | ReplySentBack
    | BuildProgressed
    | ItemTicked
    | EventsMissed
    | RunEnded
)

_reader: ValueReader[RunEvent] = ValueReader(RunEvent, "the event")


def read_event(data: bytes | str) -> RunEvent:
    """Read an event from the JSON of ``event.canonical()``. Raises InvalidValueError."""
    return _reader.read(data)


def sse(event: RunEvent) -> bytes:
    """Return an event as a server-sent event (WHATWG HTML, section 9.2).

    Its id is the record's number: a browser that reconnects sends it as ``Last-Event-ID``.
    """
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.type.encode(), event.canonical())
