"""Versions: which tree a workspace was, who made it so, and after which other version."""

from __future__ import annotations

from typing import Annotated

from artificer.errors import InvalidValueError, TamperedError
from artificer.values.base import Digest, Meta, Text, Value

MAX_MESSAGE = 1000


class Version(Value):
    """One version of a workspace, or of a run's draft of it.

    ``before`` is the digest of the version before this one, so that versions are a chain. ``run``
    and ``key`` say which call made it: a call that is performed again after a crash finds by them
    that it has been performed. ``base`` is the version that a draft was begun from.
    """

    workspace: str
    number: Annotated[int, Meta(ge=1)]
    root: Digest
    before: Digest | None = None
    base: Annotated[int, Meta(ge=0)] = 0
    run: str = ""
    key: str = ""
    message: Annotated[Text, Meta(max_length=MAX_MESSAGE)] = ""
    at: int


def read_version(data: bytes, workspace: str, number: int) -> Version:
    """Read a version's blob. Raises TamperedError for one that is not that version."""
    try:
        version = Version.read(data)
    except InvalidValueError as error:
        raise TamperedError(f"Version {number} of {workspace!r} cannot be read.") from error
    if (version.workspace, version.number) != (workspace, number):
        raise TamperedError(
            f"Version {number} of {workspace!r} points to version {version.number} "
            f"of {version.workspace!r}."
        )
    return version
