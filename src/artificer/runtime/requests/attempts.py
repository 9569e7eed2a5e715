"""The attempts of a request that is in progress, as its provider reports them."""

from __future__ import annotations

import time
from collections.abc import Callable

from artificer.runtime.limits.accounts import BEGUN
from artificer.values.model import Delta, RetryDelta

ROUNDED_S = 0.001
"""How much earlier than a RetryDelta says the next attempt may begin: it names a millisecond."""


class RequestAttempts:
    """Passes on what a provider says, and knows whether the request has cost nothing so far."""

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        self._on_delta = on_delta
        self._may_have_cost = False
        self._next_begins = float("-inf")

    def __call__(self, delta: Delta) -> None:
        """Pass on a piece of the reply, or that an attempt has failed."""
        if isinstance(delta, RetryDelta):
            self._may_have_cost |= delta.code in BEGUN
            self._next_begins = time.monotonic() + delta.until / 1000 - time.time() - ROUNDED_S
        self._on_delta(delta)

    @property
    def cost_nothing(self) -> bool:
        """Whether all attempts were refused, and the next one has not begun."""
        return not self._may_have_cost and time.monotonic() < self._next_begins
