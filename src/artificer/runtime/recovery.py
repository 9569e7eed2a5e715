"""After a crash: handling intents that have no receipt (invariant 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from artificer.core.events import CallProbed, ToolReturned
from artificer.core.intents import CallTool, Intent
from artificer.core.state import RunState
from artificer.ports import Probed
from artificer.values.blocks import ToolResultBlock
from artificer.values.refusal import not_ok

_AMBIGUOUS = (
    "The runtime stopped while this call was under way. It may have happened, wholly, in part or "
    "not at all; nobody can know from here. It was not repeated. Find out before you repeat it."
)

_FOUND = "It had happened before the runtime stopped, and was not repeated."


def recover(
    pending: Sequence[Intent],
    at: int,
    probed: Mapping[int, Probed],
    doubts: Mapping[int, str],
) -> tuple[tuple[CallProbed | ToolReturned, ...], tuple[Intent, ...]]:
    """Return the events to record, and the intents to perform again.

    Asking a model or a person again is safe: no answer was recorded. A tool is run again only if
    its effect class allows it, or if the world says that the call had not happened; neither counts
    where the call may be in progress still. Otherwise it is ambiguous, and both the model and the
    human learn so.

    ``probed`` is a probe's result, and ``doubts`` why a call may be in progress, by the number of
    the intent. A call that may be repeated is not, if its probe does not say that it is absent.
    """
    events: list[CallProbed | ToolReturned] = []
    again: list[Intent] = []
    for intent in pending:
        if not isinstance(intent, CallTool) or intent.effect == "pure":
            again.append(intent)
            continue
        answer, doubt = probed.get(intent.n), doubts.get(intent.n)
        if answer is not None:
            probe = CallProbed(at=at, intent=intent.n, found=answer.found, reason=answer.reason)
            events.append(probe)
        if doubt is None and _may_run_again(intent, answer):
            again.append(intent)
        else:
            events.append(_receipt(intent, at, answer or Probed(found="unknown"), doubt or ""))
    return tuple(events), tuple(again)


def _may_run_again(intent: CallTool, answer: Probed | None) -> bool:
    return intent.effect != "once" if answer is None else answer.found == "absent"


def _receipt(intent: CallTool, at: int, found: Probed, doubt: str) -> ToolReturned:
    if found.found == "happened":
        content = found.content or _FOUND
        return ToolReturned(at=at, intent=intent.n, status="ok", content=content, duration_ms=0)
    reasons = " ".join(filter(None, (_AMBIGUOUS, found.reason, doubt)))
    content = not_ok("ambiguous", f"{intent.tool}: {reasons}")
    return ToolReturned(at=at, intent=intent.n, status="ambiguous", content=content, duration_ms=0)


def calls_made(
    state: RunState, *, begun: Sequence[Intent] = (), again: Sequence[Intent] = ()
) -> Counter[str]:
    """How often which tool was called, with the calls that were ``begun`` and have no receipt, but
    for those that are performed ``again``. Calls that the gate did not let through are none.
    """
    blocks = (block for message in state.history for block in message.blocks)
    results = {b.tool_use_id: b.status for b in blocks if isinstance(b, ToolResultBlock)}
    results |= {call.id: call.status for call in state.calls if call.status is not None}
    made = Counter(
        call.name
        for message in state.history
        for call in message.calls
        if results.get(call.id, "denied") not in _NOT_MADE
    )
    made.update(i.tool for i in begun if isinstance(i, CallTool) and i not in again)
    return made


_NOT_MADE = ("denied", "duplicate", "invalid", "unknown_tool")
