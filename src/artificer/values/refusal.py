"""The text that a model reads about a call that did not run, or failed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from artificer.values.base import JsonObject, Problem
from artificer.values.blocks import CallStatus
from artificer.values.canon import canonical
from artificer.values.text import well_formed


def not_ok(status: CallStatus, detail: str, problems: Sequence[Problem] = ()) -> str:
    """Return the answer as canonical JSON: ``{"ok": false, "status": ..., "detail": ...}``.

    ``detail`` may come from anywhere: whatever is in it, there is an answer.
    """
    answer: JsonObject = {"ok": False, "status": status, "detail": well_formed(detail)}
    if problems:
        answer["problems"] = [_members(p) for p in problems]
    return canonical(answer).decode()


def with_more(answer: str, more: str) -> str:
    """Return an answer of :func:`not_ok` with more text in its detail."""
    former: JsonObject = json.loads(answer)
    return canonical({**former, "detail": f"{former['detail']} {well_formed(more)}"}).decode()


def _members(problem: Problem) -> JsonObject:
    return {name: member for name, member in problem.to_json().items() if member is not None}
