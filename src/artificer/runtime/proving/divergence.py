"""Where a replay comes to something else than the journal says."""

from __future__ import annotations

from msgspec import Struct

from artificer.errors import ArtificerError, TamperedError
from artificer.runtime.load import UNREDUCED


class Divergence(Struct, frozen=True):
    """The first place where a replay comes to something else than the journal says."""

    seq: int
    what: str
    expected: str
    actual: str


class Diverged(Exception):
    """Ends a replay at the first difference."""

    def __init__(self, seq: int, what: str, expected: str, actual: str) -> None:
        super().__init__(what)
        self.divergence = Divergence(seq, what, expected, actual)


FAILURES = (Diverged, *UNREDUCED)
"""Errors of a record that is not what this program makes of those before it."""


def failed(seq: int, error: Exception) -> Divergence:
    """Return the divergence of a record whose replay raises an error."""
    if isinstance(error, Diverged):
        return error.divergence
    if isinstance(error, TamperedError):
        return Divergence(seq, "record", "as it was written", error.message)
    why = error.message if isinstance(error, ArtificerError) else type(error).__name__
    return Divergence(seq, "transition", "a valid event", why)
