"""The steps of JSON Pointers (RFC 6901), and a step as a pointer contains it."""

from __future__ import annotations


def steps_of(pointer: str) -> list[str]:
    """Return the reference tokens of a pointer that begins with a slash, or is empty."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def escaped(step: str) -> str:
    """Return a reference token as a pointer contains it."""
    return step.replace("~", "~0").replace("/", "~1")
