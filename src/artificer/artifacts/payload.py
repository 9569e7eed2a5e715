"""A kind of artifact as the catalog knows it. The file of each kind registers one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from msgspec import Struct

from artificer.artifacts.ref import ArtifactRef
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Problem

P = TypeVar("P")


class PayloadKind(Struct, Generic[P], frozen=True, kw_only=True):
    """A kind of artifact: the tools that make it, and how many of it a run may have.

    ``problems`` takes a tool's name, its payload and the artifacts that exist; ``load`` a tool's
    name and a payload that has none. ``size`` describes a payload to the model.
    """

    tools: Callable[[], tuple[ToolDefinition, ...]]
    limit: int
    problems: Callable[[str, JsonObject, tuple[ArtifactRef, ...]], Iterator[Problem]]
    load: Callable[[str, JsonObject], P]
    size: Callable[[P], str]


def count(number: int, noun: str) -> str:
    """Return the number and the noun, in the plural where it is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
