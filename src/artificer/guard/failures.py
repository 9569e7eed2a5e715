"""The errors of guarded calls, made from their records."""

from __future__ import annotations

import json
from typing import Any

from artificer.errors import (
    AmbiguousCallError,
    CallError,
    DeniedCallError,
    FailedCallError,
    InvalidCallError,
    WaitingCallError,
)
from artificer.guard.calls import GuardedCall
from artificer.runs import Run
from artificer.values.refusal import not_ok

_KINDS: dict[str, type[CallError]] = {
    "invalid": InvalidCallError,
    "unknown_tool": InvalidCallError,
    "duplicate": InvalidCallError,
    "denied": DeniedCallError,
    "ambiguous": AmbiguousCallError,
}


def error_of(call: GuardedCall, run: str) -> CallError:
    """Return the error of a call that has ended without a result."""
    detail, problems = _read(call.content)
    kind = _KINDS.get(call.status or "", FailedCallError)
    hint = None
    if kind is AmbiguousCallError:
        hint = f"Find out, then: artificer resolve {run} {call.id} --happened, or --did-not-happen"
    return kind(
        detail, status=call.status or "", content=call.content, problems=problems, hint=hint
    )


def waiting(call: GuardedCall, run: Run) -> WaitingCallError:
    """Return the error of a call that cannot run before a person has answered."""
    why = f"because the run is {run.status}"
    if call.needs_approval:
        why = "for a person's approval"
    elif run.status == "waiting":
        why = "until a person has answered about an earlier call"
    detail = f"{call.tool}: Not run yet: the call waits {why}."
    command = "approve" if run.status == "waiting" else "explain"
    return WaitingCallError(
        detail,
        status="waiting",
        content=not_ok("cancelled", detail),
        hint=f"artificer {command} {run.id}",
    )


def without_json(tool: str, error: Exception) -> InvalidCallError:
    """Return the error of arguments that cannot be recorded."""
    detail = f"{tool}: the arguments have no JSON form: {error}"
    return InvalidCallError(detail, status="invalid", content=not_ok("invalid", detail))


def _read(content: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the message and the problems of a recorded refusal."""
    try:
        refusal: Any = json.loads(content)
        problems = tuple((p["pointer"], p["message"]) for p in refusal.get("problems", ()))
        return str(refusal["detail"]), problems
    except (ValueError, TypeError, KeyError, AttributeError):
        return content or "The call was cancelled.", ()
