"""The last record of a pruned run, read from its bytes."""

from __future__ import annotations

import json


def tombstone(body: bytes) -> int:
    """Return how many records a body is the tombstone of; 0 when it is none."""
    if b'"RunPruned"' not in body:
        return 0
    try:
        event = json.loads(body)["event"]
        return int(event["records"]) if event["type"] == "RunPruned" else 0
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0
