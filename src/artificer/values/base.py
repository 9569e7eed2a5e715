"""The base of every typed value."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

__all__ = ["Digest", "JsonObject", "JsonValue", "Problem", "Value"]

JsonObject = dict[str, JsonValue]

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
"""``sha256:`` and 64 lower-case hexadecimal digits."""


class Value(BaseModel):
    """A frozen value: equal by content, strict about types, closed against unknown fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Problem(Value):
    """One thing wrong with what a model or an author wrote.

    ``pointer`` is an RFC 6901 JSON Pointer into the checked value ("" is the whole of it),
    ``limit`` what the rule allows and ``actual`` what was found, where that can be said.
    """

    pointer: str
    message: str
    limit: JsonValue = None
    actual: JsonValue = None
