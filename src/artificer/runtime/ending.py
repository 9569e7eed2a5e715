"""Whether a run is asked to end: what lists and shows runs does without."""

from __future__ import annotations

from artificer.core.signals import Cancel, Interrupt, read_signal
from artificer.core.state import RunState
from artificer.ports import Signals


async def has_signal_of(
    signals: Signals, run: str, state: RunState, *kinds: type[Cancel | Interrupt]
) -> bool:
    """Whether a run has got a signal of one of these kinds that it has not taken."""
    bodies = [body for _, body in await signals.read(run, state.letters)]
    return any(isinstance(read_signal(body), kinds) for body in bodies)
