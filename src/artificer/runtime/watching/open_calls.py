"""The calls of a turn without an answer, and the answers that no record holds."""

from __future__ import annotations

from collections.abc import Iterator

from artificer.core import events as ev
from artificer.core.calls import TAKEN_OVER
from artificer.core.intents import AskApproval, CallTool, CheckReply, Compact, Finish, Generate
from artificer.core.record import EventLine, Line
from artificer.core.state import RunState
from artificer.events import CallFinished


class OpenCalls:
    """Follows a run's records. A turn ends when all its calls are answered, and those that are not
    to begin any more are answered by the rules: no record tells of them but those around it.
    """

    def __init__(self) -> None:
        self.ending: str | None = None
        """What calls are answered with as someone wants the run to end; None if nobody does."""
        self._tools: dict[str, str] = {}
        """The tool of each open call, by its id."""
        self._ids: dict[int, str] = {}
        """The id of the call, by the number of the intent that is about it."""

    def resumed(self, state: RunState) -> None:
        """Begin with the open calls of a run whose earlier records were not passed."""
        self.ending = state.hold_note if state.hold == "interrupt" else None
        self._tools = {c.id: c.verdict.tool for c in state.calls if c.verdict and not c.status}
        self._ids = {pending.n: pending.call_id for pending in state.pending}

    def record(self, line: Line) -> Iterator[CallFinished]:
        """Yield the ends of calls that a record shows, and that have none of their own."""
        if isinstance(line, EventLine):
            self._event(line.event)
            return
        match line.intent:
            case CallTool(n=n, call_id=call) | AskApproval(n=n, call_id=call):
                self._ids[n] = call
            case Generate() | Compact() | CheckReply() | Finish():  # the turn has ended
                yield from self._cancelled(line)

    def _event(self, event: ev.Event) -> None:
        match event:
            case ev.CallsJudged(verdicts=verdicts):
                self._tools = {v.call_id: v.tool for v in verdicts if v.verdict in ("allow", "ask")}
            case ev.ToolReturned(intent=n) | ev.ApprovalAnswered(intent=n, approved=False):
                self._tools.pop(self._ids.get(n, ""), None)
            case ev.InterruptRequested(content=content) | ev.CancelRequested(content=content):
                self.ending = content
            case ev.PauseRequested() | ev.RunFinished():
                self.ending = None

    def _cancelled(self, line: Line) -> Iterator[CallFinished]:
        for call, tool in self._tools.items():
            yield CallFinished(
                run=line.run,
                seq=line.seq,
                call_id=call,
                tool=tool,
                status="cancelled",
                content=TAKEN_OVER if self.ending is None else self.ending,
                duration_ms=0,
            )
        self._tools, self._ids = {}, {}
