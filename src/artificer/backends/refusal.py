"""Messages for a model whose arguments passed the schema and were refused by the executor."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.ports import Receipt
from artificer.values.base import Problem
from artificer.values.refusal import not_ok


def refuse(tool: str, problems: Sequence[Problem]) -> Receipt:
    """An ``invalid`` receipt, in the gate's form."""
    detail = f"{tool}: Not run. Correct all of these problems and call again."
    return Receipt(status="invalid", content=not_ok("invalid", detail, problems))
