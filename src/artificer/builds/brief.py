"""A small job for a build."""

from __future__ import annotations

from msgspec import Struct

from artificer.values.value_type import NamedType


class Brief(Struct, metaclass=NamedType, frozen=True):
    """A request that needs no plan: one code run does it.

    ``check`` is the command that validates it, by default the one that tests the project.
    """

    request: str
    check: str | None = None
