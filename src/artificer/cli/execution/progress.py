"""The progress of a run: turns, text in progress, calls with verdict and result."""

from __future__ import annotations

import time

from artificer.cli.execution.build_progress import BuildProgress
from artificer.cli.execution.refused import refused
from artificer.cli.terminal.console import one_line
from artificer.cli.terminal.screen import Screen
from artificer.cli.terminal.words import count, duration, joined
from artificer.core import events as ev
from artificer.core.intents import Compact
from artificer.core.record import EventLine, IntentLine
from artificer.core.state import RunState
from artificer.events import (
    ApprovalReceived,
    ApprovalRequested,
    CallFinished,
    CallJudged,
    CallStarted,
    CallSuspended,
    ModelChanged,
    ModelReplied,
    RunEvent,
    RunStarted,
    TurnStarted,
)
from artificer.runtime.watching.observe import Observer
from artificer.runtime.watching.translator import Translator
from artificer.values.failure_words import FAILURES
from artificer.values.model import ArgumentsDelta, Delta, FormedDelta, ReasoningDelta, RetryDelta

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
        self._translators: dict[str, Translator] = {}
        self._turn = 0
        self._arguments: dict[str, str] = {}
        """The arguments of each call, by its id."""
        self._forming = ""
        self._label = ""
        self._falls_back = False

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Show a record."""
        begun = line.event if isinstance(line, EventLine) else None
        spec = begun.spec if isinstance(begun, ev.PromptReceived) else None
        if self._builds.covers(run, spec):
            self._builds.recorded(run, line)
            self.run, self.failure = self._builds.run, self._builds.failure
            return
        events = tuple(self._translator(run).record(line))
        self._falls_back = any(isinstance(event, ModelChanged) for event in events)
        if isinstance(line, EventLine):
            self._journaled(run, line.event)
        for event in events:
            self._happened(event)
        if isinstance(line, IntentLine) and isinstance(line.intent, Compact):
            self._turn = line.intent.turn
            self._show(f"turn {self._turn}: summarising older messages")

    def resumed(self, run: str, state: RunState) -> None:
        """Remember the calls in progress, whose results are shown later."""
        if self._builds.covers(run, state.spec):
            self._builds.resumed(run, state)
            return
        self._turn = state.turn
        self._translator(run).resumed(state)
        for call in state.calls:
            if call.verdict:
                self._arguments[call.id] = call.verdict.arguments or ""

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """Remember the records that a fork starts with, without showing them."""
        for event in self._translator(run).record(line):
            self._remember(event)

    def streamed(self, run: str, delta: Delta) -> None:
        """Show the end of the text in progress."""
        if isinstance(delta, RetryDelta):
            if not self._builds.covers(run, None):
                self._show(f"turn {self._turn}: {FAILURES[delta.code]}; {_again(delta)}")
            return
        if self._builds.covers(run, None):
            self._builds.streamed(run, delta.text)
            return
        label = f"turn {self._turn}: the model {_activity(delta)}"
        if label != self._label:
            self._show(label)
        self._forming = (self._forming + delta.text)[-FORMING:]
        self.screen.forming(self._label, self._forming)

    def _translator(self, run: str) -> Translator:
        return self._translators.setdefault(run, Translator(run))

    def _show(self, label: str) -> None:
        self._label, self._forming = label, ""
        self.screen.forming(label, "")

    def _remember(self, event: RunEvent) -> None:
        match event:
            case TurnStarted(turn=turn):
                self._turn = turn
            case CallStarted() | ApprovalRequested():
                self._arguments[event.call_id] = event.arguments
            case _:
                pass

    def _happened(self, event: RunEvent) -> None:
        """Show an event that every follower of a run gets."""
        self._remember(event)
        match event:
            case RunStarted(resumed=resumed):
                self.run = event.run
                about = "resumed" if resumed else f"{event.kind} · {event.provider}/{event.model}"
                self.screen.line(f"run {event.run} · {about}", "dim")
            case TurnStarted():
                self._show(f"turn {self._turn}: waiting for the model")
            case CallStarted(tool=tool) | ApprovalRequested(tool=tool):
                self._show(f"turn {self._turn}: {tool}")
            case ModelReplied():
                self._replied(event)
            case ModelChanged(provider=provider, model=model, failed=failed):
                self.failure = None
                self.screen.line(f"  {provider}/{model} takes over from {failed}")
            case CallJudged(verdict=verdict) if verdict not in ("allow", "ask"):
                self.screen.line(refused(event), "bad")
            case ApprovalReceived(approved=False, tool=tool, reason=reason):
                self.screen.line(f"  {tool or 'the call'}  not approved. {reason}", "bad")
            case CallSuspended(tool=tool, child=child, standing=standing):
                self.screen.line(f"  {tool}  waits for run {child}, which is {standing}")
            case CallFinished():
                self._finished(event)
            case _:
                pass

    def _journaled(self, run: str, event: ev.Event) -> None:
        """Show a record that has more to say than its event."""
        match event:
            case ev.RunForked(origin=origin):
                self._forked(run, origin)
            case ev.ModelFailed():
                self.failure = event
                self.screen.line(f"turn {self._turn}  failed: {FAILURES[event.code]}", "bad")
            case ev.ContextCompacted() | ev.CompactionFailed():
                self._compacted(event)
            case ev.ReplyChecked(request=str()):
                self.screen.line(f"  {_sent_back(event)}")
            case _:
                pass

    def _compacted(self, event: ev.ContextCompacted | ev.CompactionFailed) -> None:
        if isinstance(event, ev.ContextCompacted):
            text = f"{count(event.upto, 'message')} summarised, no longer sent"
        elif event.code == "budget":
            self.failure, text = event, f"no summary: {FAILURES['budget']}"
        elif self._falls_back:
            text = f"no summary: {event.code.replace('_', ' ')}"
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

    def _replied(self, event: ModelReplied) -> None:
        odd = {"max_tokens": "cut off at its output limit", "refusal": "declined"}
        facts = joined(
            duration(event.duration_ms),
            f"{event.usage.input_tokens:,} in, {event.usage.output_tokens:,} out",
            "" if event.attempts == 1 else count(event.attempts, "attempt"),
            odd.get(event.stop, ""),
        )
        self.screen.line(f"turn {self._turn}  {facts}", "strong")
        self._show(f"turn {self._turn}: checking")

    def _finished(self, event: CallFinished) -> None:
        style = None if event.status == "ok" else "bad"
        shown = one_line(self._arguments.get(event.call_id, ""), ARGUMENTS)
        took = duration(event.duration_ms)
        self.screen.line(f"  {event.tool or 'call'} {shown}  {event.status}  {took}", style)


def _sent_back(event: ev.ReplyChecked) -> str:
    if event.unfinished:
        return f"cut off after {count(len(event.unfinished), 'character')}: requesting the rest"
    if event.findings:
        return f"sent back for repair: {count(len(event.findings), 'finding')}"
    return f"sent back: {event.rejected or 'it contained no answer'}"


def _again(delta: RetryDelta) -> str:
    seconds = max(1, round(delta.until / 1000 - time.time()))
    if delta.limit:
        return f"waiting for room: {delta.limit} (at the longest {seconds} s)"
    return f"asking again in {seconds} s (attempt {delta.attempt} of {delta.attempts})"


def _activity(delta: FormedDelta) -> str:
    if isinstance(delta, ArgumentsDelta):
        return f"writes {delta.name}"
    return "thinks" if isinstance(delta, ReasoningDelta) else "answers"
