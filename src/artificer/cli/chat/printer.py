"""Showing a reply as it forms: text on stdout, reasoning, calls and failures on stderr."""

from __future__ import annotations

import sys

from artificer import events as happened
from artificer.cli.chat.reasoning import ReasoningPrinter
from artificer.cli.execution.refused import refused
from artificer.cli.terminal.console import clean, note, one_line
from artificer.cli.terminal.words import duration
from artificer.core.record import EventLine, IntentLine
from artificer.core.state import RunState
from artificer.ports import CallProgress
from artificer.runtime.watching.observe import Observer
from artificer.runtime.watching.translator import Translator
from artificer.values.failure_words import FAILURES
from artificer.values.model import Delta

ARGUMENTS = 60
"""Characters of a call's arguments that are shown."""


class ReplyPrinter(Observer):
    """Prints what one run does. ``run`` is its id, once it is in the journal."""

    def __init__(self) -> None:
        self.run: str | None = None
        self.failure: happened.ModelRequestFailed | None = None
        self._translator: Translator | None = None
        self.reasoning = ReasoningPrinter()
        self._printed = ""
        self._calls: dict[str, str] = {}

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Show the events of a record."""
        for event in self._translator_of(run).record(line) if run in (self.run, None) else ():
            self._show(event)

    def resumed(self, run: str, state: RunState) -> None:
        """Take over how far a run is that continues here."""
        if run in (self.run, None):
            self._translator_of(run).resumed(state)

    def streamed(self, run: str, delta: Delta) -> None:
        """Show a piece that has formed."""
        if run == self.run:
            self._show(self._translator_of(run).delta(delta))

    def progressed(self, run: str, progress: CallProgress) -> None:
        """Show how far a call is."""
        if run == self.run:
            self._show(self._translator_of(run).progress(progress))

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """Show no record that is history."""

    def begin(self, run: str) -> None:
        """Show this run from now on."""
        self.run, self.failure, self._translator = run, None, None

    def _translator_of(self, run: str) -> Translator:
        if self._translator is None:
            self._translator = Translator(run)
        return self._translator

    def _show(self, event: happened.RunEvent) -> None:
        if isinstance(event, happened.ReasoningStreamed):
            self.end_line()
            self.reasoning.write(event.text)
            return
        self.reasoning.end()
        match event:
            case happened.TextStreamed(text=text):
                self._write(text)
            case happened.ModelReplied(text=text):
                self._complete(text)
            case happened.CallStarted(call_id=call, arguments=arguments):
                self._calls[call] = arguments
            case happened.CallFinished(call_id=call, tool=tool, status=status) as finished:
                shown = one_line(self._calls.pop(call, ""), ARGUMENTS)
                took = duration(finished.duration_ms)
                note(f"  {tool} {shown}  {status}  {took}", "dim" if status == "ok" else "bad")
            case happened.CallProgressed(tool=tool, message=message):
                note(f"  {tool}  {one_line(message, ARGUMENTS)}{_portion(event)}", "dim")
            case happened.CallJudged(verdict=verdict) if verdict not in ("allow", "ask"):
                note(refused(event), "bad")
            case happened.ModelRequestFailed(code=code):
                self.end_line()
                self.failure = event
                note(f"  failed: {FAILURES[code]}", "bad")
            case happened.ModelChanged(provider=provider, model=model):
                self.failure = None
                note(f"  {provider}/{model} takes over", "dim")
            case _:
                pass

    def _write(self, text: str) -> None:
        self._printed += text
        sys.stdout.write(clean(text))
        sys.stdout.flush()

    def _complete(self, text: str) -> None:
        """Print what is missing of a reply: its last word, or all where nothing was streamed."""
        if text.startswith(self._printed):
            self._write(text[len(self._printed) :])
        self.end_line()

    def end(self) -> None:
        """Finish what is shown of a reply, however it ended."""
        self.reasoning.end()
        self.end_line()

    def end_line(self) -> None:
        """Begin a new line, if there is text on this one."""
        if self._printed and not self._printed.endswith("\n"):
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._printed = ""


def _portion(event: happened.CallProgressed) -> str:
    """Return how much is done, and of how much, as far as it is known."""
    if event.done is None:
        return ""
    return f"  {event.done}" if event.total is None else f"  {event.done} of {event.total}"
