"""The outcome of performing an intent."""

from __future__ import annotations

from msgspec import Struct

from artificer.core.events import Event
from artificer.ports import Settlement
from artificer.runtime.limits.accounts import NO_CHARGES, Charges


class Outcome(Struct, frozen=True, gc=False):
    """The event to record, and the other parts of its commit: blobs, and the cost of a request.

    Without an event there is nothing to record now. ``charges`` are released once the rest is
    recorded.
    """

    event: Event | None
    blobs: tuple[bytes, ...] = ()
    settlements: tuple[Settlement, ...] = ()
    charges: Charges = NO_CHARGES
