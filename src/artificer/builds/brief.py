"""A small job for a build."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Brief:
    """A request that needs no plan: one code run does it.

    ``check`` is the command that validates it, by default the one that tests the project.
    """

    request: str
    check: str | None = None
