"""From the records and deltas of a run to its public events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain

from msgspec import structs

from artificer.builds.summary import happened, job_in_words
from artificer.core import events as ev
from artificer.core.intents import AdvanceBuild, AskApproval, CallTool, Generate
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import Fallback, RunSpec
from artificer.core.state import RunState
from artificer.events import (
    ApprovalReceived,
    ApprovalRequested,
    ArgumentsStreamed,
    ArtifactCreated,
    BuildProgressed,
    CallFinished,
    CallJudged,
    CallProgressed,
    CallResumed,
    CallStarted,
    CallSuspended,
    EventsMissed,
    ItemTicked,
    ModelChanged,
    ModelDelayed,
    ModelReplied,
    ModelRequestFailed,
    ReasoningStreamed,
    ReplySentBack,
    RunEnded,
    RunEvent,
    RunStarted,
    TextStreamed,
    TurnStarted,
)
from artificer.ports import CallProgress
from artificer.runtime.watching.open_calls import OpenCalls
from artificer.values.model import (
    FALLBACK_FAILURES,
    ArgumentsDelta,
    Delta,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
)


class Translator:
    """Turns the records and deltas of one run, in order, into events."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.seq = 0
        self._calls: dict[int, tuple[str, str]] = {}
        """Id and tool of each call, by the number of the intent that is about it."""
        self._models: deque[RunSpec | Fallback] = deque()
        """The model, and those that may take over."""
        self._open = OpenCalls()

    def record(self, line: EventLine | IntentLine) -> Iterator[RunEvent]:
        """Yield the events of a record."""
        self.seq = line.seq
        own = self._intent(line) if isinstance(line, IntentLine) else self._event(line.event)
        return chain(self._open.record(line), own)

    def resumed(self, state: RunState) -> None:
        """Take over the calls in progress of a run whose earlier records were not passed."""
        self._models = deque([state.run_spec, *state.run_spec.fallbacks])
        self._open.resumed(state)
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
            case RetryDelta(
                code=code, until=until, attempt=attempt, attempts=attempts, limit=limit
            ):
                return ModelDelayed(
                    run=self.run,
                    seq=self.seq,
                    code=code,
                    until=until,
                    attempt=attempt,
                    attempts=attempts,
                    limit=limit,
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
            case AdvanceBuild(wish=job):
                yield BuildProgressed(run=run, seq=seq, what=job.type, text=job_in_words(job))
            case _:
                pass

    def _changed(self, code: str) -> Iterator[ModelChanged]:
        """Yield the change of models that a failure leads to, if it does (core.fallback)."""
        if code not in FALLBACK_FAILURES or len(self._models) < 2:
            return
        if self._open.ending is not None:  # no other model is asked then
            return
        failed, model = self._models.popleft(), self._models[0]
        yield ModelChanged(
            run=self.run,
            seq=self.seq,
            provider=model.provider,
            model=model.model,
            failed=f"{failed.provider}/{failed.model}",
            code=code,
        )

    def _event(self, event: ev.Event) -> Iterator[RunEvent]:
        run, seq = self.run, self.seq
        match event:
            case ev.PromptReceived(spec=spec):
                self._models = deque([spec, *spec.fallbacks])
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
            case ev.ToolReturned() | ev.CallWaiting() | ev.CallContinued():
                yield from self._of_call(event)
            case ev.ChecklistTicked(checklist=name, item=item, checked=checked, by=by):
                label = event.label
                yield ItemTicked(
                    run=run, seq=seq, checklist=name, item=item, label=label, checked=checked, by=by
                )
            case ev.ReplyChecked(request=str() as request):
                yield ReplySentBack(run=run, seq=seq, request=request)
            case ev.BuildAdvanced(fact=fact):
                yield BuildProgressed(run=run, seq=seq, what=fact.type, text=happened(fact))
            case _:
                yield from self._of_model(event)

    def _of_model(self, event: ev.Event) -> Iterator[RunEvent]:
        """Yield the events of the result of a request."""
        run, seq = self.run, self.seq
        match event:
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
                    reasoning=_reasoning(reply),
                )
            case ev.ModelFailed(code=code, message=message, attempts=attempts):
                yield ModelRequestFailed(
                    run=run, seq=seq, code=code, message=message, attempts=attempts
                )
                yield from self._changed(code)
            case ev.CompactionFailed(code=code):
                yield from self._changed(code)
            case _:
                pass

    def _of_call(
        self, event: ev.ToolReturned | ev.CallWaiting | ev.CallContinued
    ) -> Iterator[RunEvent]:
        """Yield the events of a call that ended, waits for its run, or continues with it."""
        run, seq = self.run, self.seq
        call, tool = self._calls.get(event.intent, ("", ""))
        match event:
            case ev.ToolReturned():
                yield from self._returned(event)
            case ev.CallContinued():
                yield CallResumed(run=run, seq=seq, call_id=call, tool=tool)
            case ev.CallWaiting(run=child, standing=standing):
                yield CallSuspended(
                    run=run, seq=seq, call_id=call, tool=tool, child=child, standing=standing
                )

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


def _reasoning(reply: ev.ModelResponded) -> str:
    found = [block.summary for block in reply.blocks if block.type == "reasoning"]
    return "\n\n".join(filter(None, found))


def _text(reply: ev.ModelResponded) -> str:
    return "\n\n".join(block.text for block in reply.blocks if block.type == "text")
