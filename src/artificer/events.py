"""The events of a run for programs that follow it: the CLI, a web page, a caller's own code.

Most come from records of the journal and carry the record's number, ``seq``. Text and arguments
that are still forming, and reports of progress, are not journaled; their ``seq`` is that of the
last record before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from msgspec import structs

from artificer.artifacts.ref import ArtifactRef
from artificer.core import events as ev
from artificer.core.intents import AskApproval, CallTool, FinishReason, Generate
from artificer.core.record import EventLine, IntentLine
from artificer.core.state import RunState
from artificer.core.verdict import VerdictWord
from artificer.ports import CallProgress, Question
from artificer.values.base import Digest, Problem, Text, Value, ValueReader
from artificer.values.blocks import CallStatus
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    FailureCode,
    ReasoningDelta,
    StopReason,
    TextDelta,
    Usage,
)


class _RunEvent(Value, tag_field="type"):
    run: str
    seq: int


class RunStarted(_RunEvent):
    """The run begins, or a process takes it up again (``resumed``)."""

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
    """A piece of the model's text has formed."""

    type: ClassVar[Literal["text"]] = "text"
    text: Text


class ReasoningStreamed(_RunEvent):
    """A piece of the model's reasoning has formed, where the provider shows it."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: Text


class ArgumentsStreamed(_RunEvent):
    """A piece of a call's arguments has formed. ``index`` counts the calls of the reply."""

    type: ClassVar[Literal["arguments"]] = "arguments"
    index: int
    tool: Text
    text: Text


class ModelReplied(_RunEvent):
    """The reply of a turn is complete. ``usage`` and ``cost_micros`` are those of this request."""

    type: ClassVar[Literal["model_replied"]] = "model_replied"
    text: Text
    usage: Usage
    cost_micros: int | None = None
    attempts: int = 1
    duration_ms: int = 0
    stop: StopReason = "end_turn"


class ModelRequestFailed(_RunEvent):
    """There is no reply, after all attempts."""

    type: ClassVar[Literal["model_failed"]] = "model_failed"
    code: FailureCode
    message: Text
    attempts: int = 1


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
    """A call begins."""

    type: ClassVar[Literal["call_started"]] = "call_started"
    call_id: str
    tool: str
    arguments: Text


class CallProgressed(_RunEvent):
    """A call under way has reported its progress (`RunContext.progress`). Not journaled."""

    type: ClassVar[Literal["call_progressed"]] = "call_progressed"
    call_id: str
    tool: str
    message: Text
    done: int | None = None
    total: int | None = None


class CallFinished(_RunEvent):
    """A call ended. ``content`` is what the model reads."""

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
    """A reply did not pass; ``request`` asks the model for another one."""

    type: ClassVar[Literal["reply_sent_back"]] = "reply_sent_back"
    request: Text


class EventsMissed(_RunEvent):
    """The reader was slower than the run: ``count`` pieces of text, arguments or reports of
    progress were dropped.

    The complete reply follows in :class:`ModelReplied`. Records are never dropped.
    """

    type: ClassVar[Literal["events_missed"]] = "events_missed"
    count: int


class RunEnded(_RunEvent):
    """The run is over, or idle: stalled, paused, or waiting for a person.

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
    | ModelReplied
    | ModelRequestFailed
    | CallJudged
    | ApprovalRequested
    | ApprovalReceived
    | CallStarted
    | CallProgressed
    | CallFinished
    | ArtifactCreated
    | ReplySentBack
    | EventsMissed
    | RunEnded
)

_reader: ValueReader[RunEvent] = ValueReader(RunEvent, "the event")


def read_event(data: bytes | str) -> RunEvent:
    """Read an event from its JSON, as ``event.canonical()`` wrote it. Raises InvalidValueError."""
    return _reader.read(data)


def sse(event: RunEvent) -> bytes:
    """Return an event as a server-sent event (WHATWG HTML, section 9.2).

    Its id is the record's number: a browser that reconnects sends it as ``Last-Event-ID``.
    """
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.type.encode(), event.canonical())


class Translator:
    """Turns the records and deltas of one run, in order, into events."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.seq = 0
        self._calls: dict[int, tuple[str, str]] = {}
        """Id and tool of each call, by the number of the intent that is about it."""

    def record(self, line: EventLine | IntentLine) -> Iterator[RunEvent]:
        """Yield the events of a record."""
        self.seq = line.seq
        if isinstance(line, IntentLine):
            return self._intent(line)
        return self._event(line.event)

    def resumed(self, state: RunState) -> None:
        """Take over the calls in progress of a run whose earlier records were not passed."""
        tools = {call.id: call.verdict.tool for call in state.calls if call.verdict}
        for pending in state.pending:
            if pending.call_id in tools:
                self._calls[pending.n] = pending.call_id, tools[pending.call_id]

    def progress(self, progress: CallProgress) -> RunEvent:
        """Return the event of a report of progress."""
        return CallProgressed(run=self.run, seq=self.seq, **structs.asdict(progress))

    def delta(self, delta: Delta) -> RunEvent:
        """Return the event of a piece that has formed."""
        match delta:
            case TextDelta(text=text):
                return TextStreamed(run=self.run, seq=self.seq, text=text)
            case ReasoningDelta(text=text):
                return ReasoningStreamed(run=self.run, seq=self.seq, text=text)
            case ArgumentsDelta(index=index, name=name, text=text):
                return ArgumentsStreamed(
                    run=self.run, seq=self.seq, index=index, tool=name, text=text
                )

    def missed(self, count: int) -> EventsMissed:
        """Return the event that says how many pieces were dropped."""
        return EventsMissed(run=self.run, seq=self.seq, count=count)

    def ended(self, state: RunState, text: str) -> RunEnded:
        """Return the last event: how the run stands."""
        return RunEnded(
            run=self.run,
            seq=self.seq,
            status=state.standing,
            text=text,
            reason=state.reason,
            failure=state.failure,
            usage=state.usage,
            cost_micros=state.cost_micros,
        )

    def _intent(self, line: IntentLine) -> Iterator[RunEvent]:
        run, seq = self.run, self.seq
        match line.intent:
            case Generate(turn=turn):
                yield TurnStarted(run=run, seq=seq, turn=turn)
            case CallTool(n=n, call_id=call, tool=tool, arguments=arguments):
                self._calls[n] = call, tool
                yield CallStarted(run=run, seq=seq, call_id=call, tool=tool, arguments=arguments)
            case AskApproval() as asked:
                self._calls[asked.n] = asked.call_id, asked.tool
                yield ApprovalRequested(
                    run=run,
                    seq=seq,
                    call_id=asked.call_id,
                    tool=asked.tool,
                    arguments=asked.arguments,
                    reason=asked.reason,
                    digest=asked.call,
                )
            case _:
                pass

    def _event(self, event: ev.Event) -> Iterator[RunEvent]:
        run, seq = self.run, self.seq
        match event:
            case ev.PromptReceived(spec=spec):
                yield RunStarted(
                    run=run,
                    seq=seq,
                    kind=spec.kind,
                    provider=spec.provider,
                    model=spec.model,
                    prompt=spec.prompt,
                )
            case ev.RunResumed():
                yield RunStarted(run=run, seq=seq, resumed=True)
            case ev.ModelResponded() as reply:
                yield ModelReplied(
                    run=run,
                    seq=seq,
                    text=_text(reply),
                    usage=reply.usage,
                    cost_micros=reply.cost_micros,
                    attempts=reply.attempts,
                    duration_ms=reply.duration_ms,
                    stop=reply.stop,
                )
            case ev.ModelFailed(code=code, message=message, attempts=attempts):
                yield ModelRequestFailed(
                    run=run, seq=seq, code=code, message=message, attempts=attempts
                )
            case ev.CallsJudged(verdicts=verdicts):
                for verdict in verdicts:
                    yield CallJudged(
                        run=run,
                        seq=seq,
                        call_id=verdict.call_id,
                        tool=verdict.tool,
                        verdict=verdict.verdict,
                        arguments=verdict.arguments,
                        reason=verdict.reason,
                        problems=verdict.problems,
                    )
            case ev.ApprovalAnswered(intent=n, approved=approved, by=by, reason=reason):
                call, tool = self._calls.get(n, ("", ""))
                yield ApprovalReceived(
                    run=run,
                    seq=seq,
                    call_id=call,
                    tool=tool,
                    approved=approved,
                    by=by,
                    reason=reason,
                )
            case ev.ToolReturned() as returned:
                yield from self._returned(returned)
            case ev.ReplyChecked(request=str() as request):
                yield ReplySentBack(run=run, seq=seq, request=request)
            case _:
                pass

    def _returned(self, event: ev.ToolReturned) -> Iterator[RunEvent]:
        call, tool = self._calls.pop(event.intent, ("", ""))
        yield CallFinished(
            run=self.run,
            seq=self.seq,
            call_id=call,
            tool=tool,
            status=event.status,
            content=event.content,
            duration_ms=event.duration_ms,
        )
        if event.artifact is not None:
            yield ArtifactCreated(run=self.run, seq=self.seq, artifact=event.artifact)


def _text(reply: ev.ModelResponded) -> str:
    return "\n\n".join(block.text for block in reply.blocks if block.type == "text")
