"""Values of the ports as the API takes them."""

from __future__ import annotations

from typing import Any

from artificer.ports import Amount, Head, Reservation, Settlement, Spending
from artificer.storage.budget import bounded


def head_of(head: Head | None) -> dict[str, Any] | None:
    """Return the end of a run."""
    return None if head is None else {"seq": head.seq, "hash": head.hash}


def spending_of(spending: Spending) -> dict[str, Any]:
    """Return changes of budgets."""
    return {
        "settlements": [_settlement(one) for one in spending.settlements],
        "reservations": [_reservation(one) for one in spending.reservations],
    }


def _settlement(one: Settlement) -> dict[str, Any]:
    return {"account": one.account, "number": one.number, "cost": _amount(one.cost)}


def _reservation(one: Reservation) -> dict[str, Any]:
    return {
        "account": one.account,
        "number": one.number,
        "need": _amount(one.need),
        "limit": {"tokens": one.limit.tokens, "micros": one.limit.micros},
        "at": one.at,
        "until": one.until,
    }


def _amount(amount: Amount) -> dict[str, int]:
    found = bounded(amount)
    return {"tokens": found.tokens, "micros": found.micros}
