"""A prompt of a build that needs no plan."""

from __future__ import annotations

from msgspec import Struct

from artificer.values.value_type import NamedType


class Brief(Struct, metaclass=NamedType, frozen=True):
    """A prompt of a build that needs no plan: one code run does it.

    ``validation`` is the command that validates its change, by default the one that tests the
    project.
    """

    prompt: str
    validation: str | None = None
