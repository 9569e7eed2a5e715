"""Signals to runs, as a program sends them."""

from __future__ import annotations

from artificer.core.signals import LONGEST, Signal
from artificer.errors import AuthorError
from artificer.runtime.load import no_run
from artificer.wiring.storage import OpenStorage


async def post(storage: OpenStorage, run_id: str, signal: Signal) -> int:
    """Put a signal into a run's queue, and return its number.

    Raises:
        NotFoundError: no such run.
        AuthorError: the signal is too long.
        OperatorError: too many signals wait for the run.
    """
    if not await storage.journal.read(run_id, limit=1):
        raise no_run(run_id)
    body = signal.canonical()
    if len(body) > LONGEST:
        raise AuthorError(
            f"A signal has at most {LONGEST:,} bytes; this has {len(body):,}.",
            hint="Send a shorter text.",
        )
    return await storage.signals.post(run_id, body)
