"""Telling secrets from words: ``postgres`` is also a password."""

from __future__ import annotations

MIN_LENGTH = 8
"""Characters of the shortest value that is taken for a secret where nothing says that it is one."""

MIN_MADE = 16
"""The shortest length at which a value of lower-case letters only counts as a secret."""


def looks_made(value: str) -> bool:
    """Whether a value is more than a word."""
    is_word = value.isalpha() and value.islower() and len(value) < MIN_MADE
    return len(value) >= MIN_LENGTH and not is_word
