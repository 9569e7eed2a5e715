"""What a model reads when an executor refuses arguments that had passed their schema."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.ports import Receipt
from artificer.values.base import JsonValue, Problem
from artificer.values.canon import canonical


def refuse(tool: str, problems: Sequence[Problem]) -> Receipt:
    """An ``invalid`` receipt, in the form in which the gate tells the same."""
    listed: list[JsonValue] = [p.model_dump(mode="json", exclude_none=True) for p in problems]
    answer = {
        "ok": False,
        "status": "invalid",
        "detail": f"{tool}: Not run. Correct all of these problems and call again.",
        "problems": listed,
    }
    return Receipt(status="invalid", content=canonical(answer).decode())
