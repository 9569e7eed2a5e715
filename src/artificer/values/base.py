"""The base of every typed value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, field_validator

from artificer.values.canon import canonical_typed
from artificer.values.text import well_formed

__all__ = ["Digest", "JsonObject", "JsonValue", "Plain", "Problem", "Text", "Value"]

JsonObject = dict[str, JsonValue]

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
"""``sha256:`` and 64 lower-case hexadecimal digits."""

Text = Annotated[str, AfterValidator(well_formed)]
"""Text from outside. A lone surrogate, which no UTF-8 can hold, becomes U+FFFD."""

Plain = str | int | bool | None


_set = object.__setattr__


class Value(BaseModel):
    """A frozen value: equal by content, strict about types, closed against unknown fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with changes, which are not validated (as pydantic's own, at a third of
        its cost: a frozen value shares what it holds).
        """
        if deep or self.__pydantic_private__:
            return super().model_copy(update=update, deep=deep)
        cls = type(self)
        copied = cls.__new__(cls)
        changes = update or {}
        _set(copied, "__dict__", {**self.__dict__, **changes})
        _set(copied, "__pydantic_extra__", None)
        _set(copied, "__pydantic_fields_set__", self.__pydantic_fields_set__ | changes.keys())
        _set(copied, "__pydantic_private__", None)
        return copied

    def canonical(self) -> bytes:
        """The RFC 8785 bytes of this value. No stored value holds a float; a test sees to it."""
        return canonical_typed(self.model_dump(mode="json"))

    def identity(self, *, without: frozenset[str] = frozenset()) -> bytes:
        """The canonical bytes of what is not a default: what digests in a journal are made of.

        So a field that a later release adds, with a default, leaves older journals' digests as
        they are. The default of a field must therefore never change.
        """
        lean = self.model_dump(mode="json", exclude=set(without), exclude_defaults=True)
        return canonical_typed(lean)


class Problem(Value):
    """One thing wrong with what a model or an author wrote.

    ``pointer`` is an RFC 6901 JSON Pointer into the checked value ("" is the whole of it),
    ``limit`` what the rule allows and ``actual`` what was found, where that can be said.
    """

    pointer: str
    message: str
    limit: Plain | tuple[Plain, ...] = None
    actual: Plain | tuple[Plain, ...] = None

    @field_validator("limit", "actual", mode="before")
    @classmethod
    def _without_floats(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(repr(v) if isinstance(v, float) else v for v in value)
        return repr(value) if isinstance(value, float) else value
