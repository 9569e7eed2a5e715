"""After a crash: what becomes of the intents that have no receipt (invariant 3)."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.core.events import ToolReturned
from artificer.core.intents import CallTool, Intent
from artificer.values.refusal import not_ok

_AMBIGUOUS = (
    "The runtime stopped while this call was under way. It may have happened, wholly, in part or "
    "not at all; nobody can know from here. It was not repeated. Find out before you repeat it."
)


def recover(
    pending: Sequence[Intent], at: int
) -> tuple[tuple[ToolReturned, ...], tuple[Intent, ...]]:
    """Return the receipts to record, and the intents to perform again.

    Asking a model or a person again is safe: no answer was recorded. A tool is run again only if
    its effect class allows it; a ``once`` call is ambiguous, and both the model and the human are
    told so.
    """
    receipts: list[ToolReturned] = []
    again: list[Intent] = []
    for intent in pending:
        if isinstance(intent, CallTool) and intent.effect == "once":
            content = not_ok("ambiguous", f"{intent.tool}: {_AMBIGUOUS}")
            receipts.append(
                ToolReturned(
                    at=at, intent=intent.n, status="ambiguous", content=content, duration_ms=0
                )
            )
        else:
            again.append(intent)
    return tuple(receipts), tuple(again)
