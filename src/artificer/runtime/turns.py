"""A run's records as turns: each with its request, its reply, its calls and their results."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from artificer.core import events as ev
from artificer.core.intents import AskApproval, CallTool, Generate
from artificer.core.record import EventLine
from artificer.core.state import RunState
from artificer.runtime.load import Loaded
from artificer.values.blocks import TextBlock, ToolResultBlock, ToolUseBlock


class CallSummary(Struct):
    """One call. ``arguments`` are canonical once they were read, before that as they were written.

    ``status`` is empty while there is no answer.
    """

    call_id: str
    tool: str
    arguments: str
    verdict: str = ""
    rule: str = ""
    reason: str = ""
    status: str = ""
    result: str = ""
    artifact: str = ""


class TurnSummary(Struct):
    """One turn, from its request to the answers to its calls."""

    number: int
    text: str = ""
    stop: str = ""
    failure: str = ""
    sent_back: str = ""
    calls: list[CallSummary] = field(default_factory=list)


def turns_of(run: Loaded) -> list[TurnSummary]:
    """Group a run's records into turns, in order."""
    grouped = _Grouping()
    for line in run.lines:
        if isinstance(line, EventLine):
            grouped.event(line.event)
            continue
        match line.intent:
            case Generate(turn=number):
                grouped.turns.append(TurnSummary(number))
            case CallTool(n=n, call_id=call_id) | AskApproval(n=n, call_id=call_id):
                grouped.waiting[n] = call_id
    _answer_others(grouped.turns, run.state)
    return grouped.turns


class _Grouping:
    def __init__(self) -> None:
        self.turns: list[TurnSummary] = []
        self.waiting: dict[int, str] = {}

    def event(self, event: ev.Event) -> None:
        if not self.turns:
            return
        turn = self.turns[-1]
        match event:
            case ev.ModelResponded():
                _reply(turn, event)
            case ev.ModelFailed(code=code, message=message):
                turn.failure = f"{code}: {message}"
            case ev.CallsJudged(verdicts=verdicts):
                turn.calls = [
                    CallSummary(
                        v.call_id,
                        v.tool,
                        before.arguments if v.arguments is None else v.arguments,
                        v.verdict,
                        v.rule,
                        v.reason or "; ".join(f"{p.pointer}: {p.message}" for p in v.problems),
                        "" if v.verdict in ("allow", "ask") else v.verdict,
                        v.content,
                    )
                    for before, v in zip(turn.calls, verdicts, strict=False)
                ]
            case ev.ApprovalAnswered(approved=False, reason=reason, content=content):
                self._answer(turn, event.intent, status="denied", result=content, reason=reason)
            case ev.ToolReturned(status=status, content=content, artifact=made):
                self._answer(turn, event.intent, status=status, result=content)
                if made:
                    self._answer(turn, event.intent, artifact=f"{made.kind}:{made.id}")
            case ev.ReplyChecked(request=request):
                turn.sent_back = request or ""
            case _:
                pass

    def _answer(self, turn: TurnSummary, intent: int, **facts: str) -> None:
        for call in turn.calls:
            if call.call_id == self.waiting.get(intent):
                for name, value in facts.items():
                    setattr(call, name, value)


def _answer_others(turns: Iterable[TurnSummary], state: RunState) -> None:
    """Give calls the answers of the rules, as when someone ended the run: no event holds these."""
    others = {call.call_id: call for turn in turns for call in turn.calls if not call.status}
    if not others:
        return
    for message in state.history:
        for block in message.blocks:
            if isinstance(block, ToolResultBlock) and (call := others.get(block.tool_use_id)):
                call.status, call.result = block.status, block.content
    for now in state.calls:
        if now.status and (call := others.get(now.id)):
            call.status, call.result = now.status, now.content


def _reply(turn: TurnSummary, event: ev.ModelResponded) -> None:
    turn.stop = event.stop
    turn.text = "\n\n".join(b.text for b in event.blocks if isinstance(b, TextBlock))
    turn.calls = [
        CallSummary(b.id, b.name, b.arguments) for b in event.blocks if isinstance(b, ToolUseBlock)
    ]
