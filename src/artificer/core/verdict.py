"""Verdicts: the gate's decisions about calls, as events record them."""

from __future__ import annotations

from typing import Literal

from artificer.values.base import Digest, Problem, Value

Refused = Literal["denied", "invalid", "unknown_tool", "duplicate"]
VerdictWord = Literal["allow", "ask"] | Refused


class Verdict(Value):
    """The gate's verdict about one call.

    ``arguments`` is the canonical JSON text of what will run and ``digest`` binds name and
    arguments together; both are None when the arguments could not be read. ``content`` is the
    result that the model reads when the call does not run. ``resources`` are what the call may
    change or read, in the words of its tool: calls that share one do not overlap.
    """

    call_id: str
    tool: str
    verdict: VerdictWord
    rule: str = ""
    reason: str = ""
    problems: tuple[Problem, ...] = ()
    arguments: str | None = None
    digest: Digest | None = None
    content: str = ""
    resources: tuple[str, ...] = ()
