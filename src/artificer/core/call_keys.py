"""The idempotency keys of calls."""

from __future__ import annotations

from artificer.core.intents import CallTool
from artificer.core.record import FORMAT
from artificer.values.canon import canonical_typed, digest_of


def idempotency_key(run: str, intent: CallTool) -> str:
    """Return the key of a call: the same after a crash, and of no other call."""
    parts = {"arguments": intent.arguments, "format": FORMAT, "n": intent.n, "run": run}
    return digest_of(canonical_typed({**parts, "tool": intent.tool})).removeprefix("sha256:")
