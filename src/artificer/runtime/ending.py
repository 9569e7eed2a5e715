"""Signals that end a run: what lists and shows runs does without."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from artificer.core.events import CancelRequested
from artificer.core.signals import Cancel, Interrupt, cancelled, read_signal
from artificer.core.state import RunState
from artificer.errors import OperatorError
from artificer.ports import Signals

if TYPE_CHECKING:
    from artificer.runtime.ledger import Ledger


async def has_signal_of(
    signals: Signals, run: str, state: RunState, *kinds: type[Cancel | Interrupt]
) -> bool:
    """Whether a run has got a signal of one of these kinds that it has not taken."""
    bodies = [body for _, body in await signals.read(run, state.letters)]
    return any(isinstance(read_signal(body), kinds) for body in bodies)


async def cancellation(
    signals: Signals, ledger: Ledger, at: int, reason: str, by: str
) -> CancelRequested:
    """Return the event that ends a run, and let a former owner end what it performs.

    Its next record is refused, but a long call has none. So it gets a signal too, which the event
    takes if it is the next one of the run.
    """
    number = 0
    if ledger.former.liveness != "gone":
        with suppress(OperatorError):  # the run has had all the signals that it can get
            number = await signals.post(ledger.run, Cancel(reason=reason, by=by).canonical())
    taken = number if number == ledger.state.letters + 1 else 0
    return cancelled(at, reason, by=by, number=taken)
