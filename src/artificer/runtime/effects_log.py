"""The log lines of every effect: sizes and digests, never contents."""

from __future__ import annotations

import logging
import time

from artificer.core.intents import Intent
from artificer.values.canon import digest_of

log = logging.getLogger("artificer.run")


def ms_since(started: float) -> int:
    """Milliseconds since a moment of the monotonic clock."""
    return round((time.monotonic() - started) * 1000)


def log_effect(what: str, run: str, intent: Intent, duration_ms: int, **facts: object) -> None:
    """Log one effect, for people and, as an extra, for programs; bytes by their digest."""
    if log.isEnabledFor(logging.INFO):
        shown = {n: digest_of(f) if isinstance(f, bytes) else f for n, f in facts.items()}
        extra = {"run": run, "intent": intent.n, "duration_ms": duration_ms, **shown}
        words = " ".join(f"{name}={value}" for name, value in extra.items())
        log.info("%s %s", what, words, extra={"artificer": extra})
