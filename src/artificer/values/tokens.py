"""How many tokens some text takes at most: an estimate that needs no tokenizer."""

from __future__ import annotations

BYTES_A_TOKEN = 2
"""Fewest bytes that a token of ordinary text takes; English takes about four."""


USUAL_BYTES_A_TOKEN = 4
"""Bytes that a token of English takes."""

MAX_BYTES_A_TOKEN = 16
"""Most bytes that a token stands for on average, in any text: fewer tokens are a false count."""


def tokens_of(data: bytes) -> int:
    """Estimate, on the safe side, how many tokens some text takes."""
    return -(-len(data) // BYTES_A_TOKEN)
