"""A run's records as turns: each with its request, its reply, its calls and their results."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from artificer.core import events as ev
from artificer.core.intents import AskApproval, CallTool, Generate
from artificer.core.record import EventLine, Line
from artificer.values.blocks import TextBlock, ToolUseBlock
from artificer.values.model import Usage


class CallSummary(Struct):
    """One call. ``arguments`` are canonical once they were read, before that as they were written.

    ``status`` is empty while there is no answer; ``seq`` is the record of the answer.
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
    seq: int = 0


class TurnSummary(Struct):
    """One turn. ``seq`` is the record of its request, ``reply_seq`` that of its reply."""

    number: int
    seq: int
    request: str = ""
    reply_seq: int = 0
    text: str = ""
    stop: str = ""
    failure: str = ""
    sent_back: str = ""
    usage: Usage = field(default_factory=Usage)
    cost_micros: int | None = None
    calls: list[CallSummary] = field(default_factory=list)


def turns_of(lines: Iterable[Line]) -> list[TurnSummary]:
    """Group a run's records into turns, in order."""
    teller = _Teller()
    for line in lines:
        if isinstance(line, EventLine):
            teller.event(line.seq, line.event)
            continue
        match line.intent:
            case Generate(turn=number):
                teller.turns.append(TurnSummary(number, line.seq, line.request or ""))
            case CallTool(n=n, call_id=call_id) | AskApproval(n=n, call_id=call_id):
                teller.waiting[n] = call_id
    return teller.turns


class _Teller:
    def __init__(self) -> None:
        self.turns: list[TurnSummary] = []
        self.waiting: dict[int, str] = {}

    def event(self, seq: int, event: ev.Event) -> None:
        if not self.turns:
            return
        turn = self.turns[-1]
        match event:
            case ev.ModelResponded():
                _reply(turn, seq, event)
            case ev.ModelFailed(code=code, message=message):
                turn.reply_seq, turn.failure = seq, f"{code}: {message}"
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
                        seq=seq,
                    )
                    for before, v in zip(turn.calls, verdicts, strict=False)
                ]
            case ev.ApprovalAnswered(approved=False, reason=reason, content=content):
                self._answer(turn, event.intent, seq, status="denied", result=content)
                self._answer(turn, event.intent, seq, reason=reason)
            case ev.ToolReturned(status=status, content=content, artifact=made):
                self._answer(turn, event.intent, seq, status=status, result=content)
                if made:
                    self._answer(turn, event.intent, seq, artifact=f"{made.kind}:{made.id}")
            case ev.ReplyChecked(request=request):
                turn.sent_back = request or ""
            case ev.CancelRequested(content=content):
                for call in turn.calls:
                    if not call.status:
                        call.status, call.result, call.seq = "cancelled", content, seq
            case _:
                pass

    def _answer(self, turn: TurnSummary, intent: int, seq: int, **facts: str) -> None:
        for call in turn.calls:
            if call.call_id == self.waiting.get(intent):
                call.seq = seq
                for name, value in facts.items():
                    setattr(call, name, value)


def _reply(turn: TurnSummary, seq: int, event: ev.ModelResponded) -> None:
    turn.reply_seq, turn.stop = seq, event.stop
    turn.usage, turn.cost_micros = event.usage, event.cost_micros
    turn.text = "\n\n".join(b.text for b in event.blocks if isinstance(b, TextBlock))
    turn.calls = [
        CallSummary(b.id, b.name, b.arguments) for b in event.blocks if isinstance(b, ToolUseBlock)
    ]
