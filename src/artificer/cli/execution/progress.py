"""The progress of a run: turns, text in progress, calls with verdict and result."""

from __future__ import annotations

from artificer.cli.execution.build_progress import BuildProgress
from artificer.cli.terminal.console import one_line
from artificer.cli.terminal.screen import Screen
from artificer.cli.terminal.words import FAILURES, count, duration, joined
from artificer.core import events as ev
from artificer.core.intents import AskApproval, CallTool, Compact, Generate
from artificer.core.record import EventLine, IntentLine
from artificer.core.state import RunState
from artificer.runtime.observe import Observer
from artificer.values.model import ArgumentsDelta, Delta, ReasoningDelta

ARGUMENTS = 60
"""Characters of a call's arguments that are shown."""

FORMING = 400
"""Characters kept of a reply in progress, to show its end."""


class Progress(Observer):
    """Writes what happens to a screen. ``run`` is the run's id once it is in the journal."""

    def __init__(self, screen: Screen) -> None:
        self.run: str | None = None
        self.failure: ev.ModelFailed | ev.CompactionFailed | None = None
        self.requested_record: int | None = None
        """The record at which a fork was requested."""
        self.screen = screen
        self._builds = BuildProgress(screen)
        self._turn = 0
        self._calls: dict[int, tuple[str, str]] = {}
        self._forming = ""
        self._label = ""

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Show a record."""
        begun = line.event if isinstance(line, EventLine) else None
        spec = begun.spec if isinstance(begun, ev.PromptReceived) else None
        if self._builds.covers(run, spec):
            self._builds.recorded(run, line)
            self.run, self.failure = self._builds.run, self._builds.failure
            return
        if isinstance(line, EventLine):
            self._event(run, line.event)
            return
        self._intended(line)
        match line.intent:
            case Generate():
                self._show(f"turn {self._turn}: waiting for the model")
            case Compact(turn=turn):
                self._turn = turn
                self._show(f"turn {turn}: summarising older messages")
            case CallTool(tool=tool) | AskApproval(tool=tool):
                self._show(f"turn {self._turn}: {tool}")

    def resumed(self, run: str, state: RunState) -> None:
        """Remember the calls in progress, whose results are shown later."""
        if self._builds.covers(run, state.spec):
            self._builds.resumed(run, state)
            return
        self._turn = state.turn
        waiting = {pending.call_id: pending.n for pending in state.pending}
        for call in state.calls:
            if call.verdict and call.id in waiting:
                shown = (call.verdict.tool, call.verdict.arguments or "")
                self._calls[waiting[call.id]] = shown

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """Remember the records that a fork starts with, without showing them."""
        if isinstance(line, IntentLine):
            self._intended(line)

    def _intended(self, line: IntentLine) -> None:
        match line.intent:
            case Generate(turn=turn):
                self._turn = turn
            case CallTool(n=n, tool=tool, arguments=arguments):
                self._calls[n] = (tool, arguments)
            case AskApproval(n=n, tool=tool, arguments=arguments):
                self._calls[n] = (tool, arguments)

    def streamed(self, run: str, delta: Delta) -> None:
        """Show the end of the text in progress."""
        if self._builds.covers(run, None):
            self._builds.streamed(run, delta.text)
            return
        label = f"turn {self._turn}: the model {_activity(delta)}"
        if label != self._label:
            self._show(label)
        self._forming = (self._forming + delta.text)[-FORMING:]
        self.screen.forming(self._label, self._forming)

    def _show(self, label: str) -> None:
        self._label, self._forming = label, ""
        self.screen.forming(label, "")

    def _event(self, run: str, event: ev.Event) -> None:
        match event:
            case ev.PromptReceived(spec=spec):
                self.run = run
                self.screen.line(f"run {run} · {spec.kind} · {spec.provider}/{spec.model}", "dim")
            case ev.RunForked(origin=origin):
                self._forked(run, origin)
            case ev.RunResumed():
                self.run = run
                self.screen.line(f"run {run} · resumed", "dim")
            case ev.ModelResponded():
                self._responded(event)
            case ev.ModelFailed():
                self.failure = event
                self.screen.line(f"turn {self._turn}  failed: {FAILURES[event.code]}", "bad")
            case ev.ContextCompacted() | ev.CompactionFailed():
                self._compacted(event)
            case ev.CallsJudged():
                self._judged(event)
            case ev.ApprovalAnswered(approved=False, intent=intent, reason=reason):
                tool, _ = self._calls.get(intent, ("the call", ""))
                self.screen.line(f"  {tool}  not approved. {reason}", "bad")
            case ev.ToolReturned():
                self._returned(event)
            case ev.ReplyChecked(request=str()):
                self.screen.line(f"  {_sent_back(event)}")
            case _:
                pass

    def _compacted(self, event: ev.ContextCompacted | ev.CompactionFailed) -> None:
        if isinstance(event, ev.ContextCompacted):
            text = f"{count(event.upto, 'message')} summarised, no longer sent"
        elif event.code == "budget":
            self.failure, text = event, f"no summary: {FAILURES['budget']}"
        else:
            text = f"{count(event.upto, 'message')} no longer sent, without a summary"
        self.screen.line(f"  {text}")

    def _forked(self, run: str, origin: ev.Origin) -> None:
        self.screen.line(f"run {run} · forked from {origin.run} after record {origin.seq}", "dim")
        if self.requested_record not in (None, origin.seq):
            self.screen.line(
                f"  record {self.requested_record} is mid-turn: copied up to record {origin.seq}, "
                "where every call has a result"
            )
        for name in origin.changed:
            self.screen.line(f"  changed: {name}")

    def _responded(self, event: ev.ModelResponded) -> None:
        odd = {"max_tokens": "cut off at its output limit", "refusal": "declined"}
        facts = joined(
            duration(event.duration_ms),
            f"{event.usage.input_tokens:,} in, {event.usage.output_tokens:,} out",
            "" if event.attempts == 1 else count(event.attempts, "attempt"),
            odd.get(event.stop, ""),
        )
        self.screen.line(f"turn {self._turn}  {facts}", "strong")
        self._show(f"turn {self._turn}: checking")

    def _judged(self, event: ev.CallsJudged) -> None:
        for verdict in event.verdicts:
            if verdict.verdict in ("allow", "ask"):
                continue
            why = verdict.reason or "; ".join(
                f"{problem.pointer or 'arguments'}: {problem.message}"
                for problem in verdict.problems
            )
            word = verdict.verdict.replace("_", " ")
            self.screen.line(f"  {verdict.tool}  {word}  {one_line(why, 200)}".rstrip(), "bad")

    def _returned(self, event: ev.ToolReturned) -> None:
        tool, arguments = self._calls.get(event.intent, ("call", ""))
        style = None if event.status == "ok" else "bad"
        shown = one_line(arguments, ARGUMENTS)
        took = duration(event.duration_ms)
        self.screen.line(f"  {tool} {shown}  {event.status}  {took}", style)


def _sent_back(event: ev.ReplyChecked) -> str:
    if event.unfinished:
        return f"cut off after {len(event.unfinished)} characters: requesting the rest"
    if event.findings:
        return f"sent back for repair: {count(len(event.findings), 'finding')}"
    return f"sent back: {event.rejected or 'it contained no answer'}"


def _activity(delta: Delta) -> str:
    if isinstance(delta, ArgumentsDelta):
        return f"writes {delta.name}"
    return "thinks" if isinstance(delta, ReasoningDelta) else "answers"
