"""How many tokens some text takes at most: an estimate that needs no tokenizer."""

from __future__ import annotations

BYTES_A_TOKEN = 2
"""Fewest bytes that a token of ordinary text takes; English takes about four."""


def tokens_of(data: bytes) -> int:
    """Estimate, on the safe side, how many tokens some text takes."""
    return -(-len(data) // BYTES_A_TOKEN)
