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


_new, _set = object.__new__, object.__setattr__
_set_extra, _set_given, _set_private = (
    vars(BaseModel)[name].__set__
    for name in ("__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")
)


class Value(BaseModel):
    """A frozen value: equal by content, strict about types, closed against unknown fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with changes, which are not validated (as pydantic's own, at a sixth of
        its cost: a frozen value shares what it holds, and a reducer does little else).
        """
        if deep or self.__pydantic_private__:
            return super().model_copy(update=update, deep=deep)
        copied = _new(self.__class__)
        given, changes = self.__pydantic_fields_set__, update or {}
        _set(copied, "__dict__", {**self.__dict__, **changes})
        _set_extra(copied, None)
        _set_given(copied, given if given.issuperset(changes) else given.union(changes))
        _set_private(copied, None)
        return copied

    def __eq__(self, other: object) -> bool:
        """Equal by kind and content (as pydantic's own, without asking what no value has)."""
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return self.__dict__ == other.__dict__

    @classmethod
    def of_valid(cls, **fields: Any) -> Self:
        """Return a value of all its fields, which were validated in another form: as pydantic's
        ``model_construct``, at a fifth of its cost.
        """
        made = _new(cls)
        _set(made, "__dict__", fields)
        _set_extra(made, None)
        _set_given(made, set(fields))
        _set_private(made, None)
        return made

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
