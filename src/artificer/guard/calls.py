"""The recorded calls of a guarded run: what was called, and how it ended."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from artificer.core import events as ev
from artificer.core.intents import AskApproval, CallTool
from artificer.core.record import EventLine, IntentLine
from artificer.runtime.watching.observe import Observer
from artificer.values.blocks import CallStatus, ToolUseBlock

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(eq=False)
class GuardedCall:
    """One call of the run.

    ``recorded`` says that the journal has it, ``needs_approval`` that a person is asked about it.
    ``status`` is None until it has ended. ``claimed`` says that a caller in this process made it
    or was given its result. ``happened`` is what a person found out about an ambiguous one, with
    the ``note`` about that.
    """

    id: str
    tool: str
    arguments: str
    status: CallStatus | None = None
    content: str = ""
    whole: str | None = None
    recorded: bool = False
    needs_approval: bool = False
    claimed: bool = False
    happened: bool | None = None
    note: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def settle(self, status: CallStatus, content: str, whole: str | None = None) -> None:
        """Record how the call ended."""
        self.status, self.content, self.whole = status, content, whole
        self.changed.set()

    @property
    def may_run_again(self) -> bool:
        """Whether a person found out that an ambiguous call had not happened."""
        return self.status == "ambiguous" and self.happened is False


class GuardedCalls(Observer):
    """All calls of a run, kept up to date by its records."""

    def __init__(self) -> None:
        self._calls: dict[str, GuardedCall] = {}
        self._intents: dict[int, GuardedCall] = {}
        self._late: dict[str, str] = {}

    def find(self, tool: str, arguments: str, call_id: str | None) -> GuardedCall | None:
        """Return the recorded call that a caller means, if there is one.

        It is the one of that id, or the first one with the same tool and arguments that nobody in
        this process has claimed.
        """
        named = self._calls.get(call_id or "")
        if named is not None and (named.tool, named.arguments) == (tool, arguments):
            return None if named.may_run_again else named
        for call in self._calls.values():
            same = (call.tool, call.arguments) == (tool, arguments)
            if same and not call.claimed and not call.may_run_again:
                return call
        return None

    def begin(self, tool: str, arguments: str, call_id: str | None) -> GuardedCall:
        """Add a call that is about to be made."""
        number = len(self._calls) + 1
        name = call_id if call_id and _ID.fullmatch(call_id) else f"call_{number}"
        while name in self._calls:
            name = f"{name}_{number}"
        call = self._calls[name] = GuardedCall(name, tool, arguments, claimed=True)
        return call

    def forget(self, call: GuardedCall) -> None:
        """Remove a call, unless it is recorded."""
        if not call.recorded:
            del self._calls[call.id]

    def read(self, lines: Iterable[EventLine | IntentLine]) -> None:
        """Read the records of a run."""
        for line in lines:
            self.recorded("", line)

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Read a record."""
        if isinstance(line, EventLine):
            self._happened(line.event)
        elif (
            isinstance(line.intent, (CallTool, AskApproval)) and line.intent.call_id in self._calls
        ):
            call = self._intents[line.intent.n] = self._calls[line.intent.call_id]
            call.needs_approval = isinstance(line.intent, AskApproval)

    def _happened(self, event: ev.Event) -> None:
        match event:
            case ev.ModelResponded():
                self._made(event)
            case ev.CallsJudged():
                self._judged(event)
            case ev.ToolReturned():
                call = self._intents[event.intent]
                call.settle(event.status, event.content, event.whole)
            case ev.ApprovalAnswered(approved=False):
                self._intents[event.intent].settle("denied", event.content)
            case ev.CancelRequested():
                self._end(event.content)
            case ev.RunFinished():
                self._end("")
            case ev.ReceiptIgnored(intent=int(number), status="ok") if number in self._intents:
                self._late[self._intents[number].id] = event.content
            case ev.DoubtResolved(letter=0) if event.call_id in self._late:
                self._calls[event.call_id].settle("ok", self._late[event.call_id])
            case ev.DoubtResolved():
                call = self._calls[event.call_id]
                call.happened, call.note = event.happened, event.content
            case _:
                pass

    def _made(self, event: ev.ModelResponded) -> None:
        for block in event.blocks:
            if isinstance(block, ToolUseBlock):
                made = GuardedCall(block.id, block.name, block.arguments)
                self._calls.setdefault(block.id, made).recorded = True

    def _judged(self, event: ev.CallsJudged) -> None:
        for verdict in event.verdicts:
            if verdict.verdict != "allow" and verdict.verdict != "ask":
                self._calls[verdict.call_id].settle(verdict.verdict, verdict.content)

    def _end(self, content: str) -> None:
        for call in self._calls.values():
            if call.status is None and call.recorded:
                call.settle("cancelled", content)

    def idle(self, run: str) -> None:
        """Wake those who wait for calls: the run is idle."""
        for call in self._calls.values():
            if call.status is None:
                call.changed.set()
