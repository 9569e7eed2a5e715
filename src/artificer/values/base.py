"""The base of every typed value: frozen, equal by content, written and read in one way.

A value is a :class:`msgspec.Struct`. Reading checks everything that its annotations say and refuses
unknown members; making one from Python checks nothing, because our own code is type-checked. Values
that people and other packages make are :class:`CheckedValue`: these check their fields when they
are made.

The members of a union are distinguished by a tag: the class variable that the base names as its
``tag_field``. A field of type :data:`Text` never holds a lone surrogate.
"""

from __future__ import annotations

from contextlib import suppress
from threading import RLock
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
)

import msgspec
from msgspec import Meta, Struct, field

from artificer.errors import InvalidValueError
from artificer.values.canon import MAX_SAFE_INTEGER, canonical_typed
from artificer.values.declared import MadeDefault, defaults_of, types_of
from artificer.values.faults import fault_of, meant
from artificer.values.lean import LEAN
from artificer.values.settings import core_schema_of
from artificer.values.value_type import NamedValueType, ValueType, refusal

__all__ = [
    "CheckedValue",
    "Count",
    "Digest",
    "JsonObject",
    "JsonValue",
    "Meta",
    "NamedDigest",
    "NaturalNumber",
    "Plain",
    "Problem",
    "ValueReader",
    "Text",
    "Value",
    "field",
]

if TYPE_CHECKING:
    JsonValue = list["JsonValue"] | dict[str, "JsonValue"] | str | bool | int | float | None
else:
    JsonValue = Any

JsonObject = dict[str, JsonValue]

Count = Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)]
"""How many of something that there is at least once. A larger integer could not be recorded."""

NaturalNumber = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
"""How many of something that may be missing."""

Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
"""``sha256:`` and 64 lower-case hexadecimal digits."""

NamedDigest = Annotated[str, Meta(min_length=71, max_length=71)]
"""A digest of which only the length is checked when it is read. Its reader compares it with one of
its own, or looks for the blob: that takes less time than a pattern, and says more.
"""

Text = str
"""Text from outside. A lone surrogate, which no UTF-8 can hold, becomes U+FFFD. The annotation
itself says so, by its name: ``Text``, ``Text | None``, ``tuple[Text, ...]``.
"""

Plain = str | int | bool | None


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Value(Struct, metaclass=ValueType, frozen=True, forbid_unknown_fields=True, gc=False):
    """A frozen value: equal by content, and strict about everything when it is read.

    No value refers to itself, so the garbage collector need not look at any.
    """

    tag_is_content = False
    """Whether the identity holds the tag, too. An annotation would be read for every class."""

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The names of the fields; a tag is not one."""
        return cls.__struct_fields__

    if TYPE_CHECKING:

        def replace(self, **changes: Any) -> Self:
            """Return a copy with changes, which are not checked."""

    else:
        replace = Struct.__replace__  # at half the cost of a method of ours that calls it

    @classmethod
    def read(cls, data: bytes | str) -> Self:
        """Read a value from JSON. Raises InvalidValueError."""
        _prepare(cls)
        try:
            return msgspec.json.decode(data, type=cls, dec_hook=_made)
        except _FAULTS as error:
            raise _invalid(cls, error) from error

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Make a value of a JSON value. Raises InvalidValueError."""
        _prepare(cls)
        try:
            return msgspec.convert(value, cls, dec_hook=_made)
        except _FAULTS as error:
            raise _invalid(cls, error) from error

    def to_json(self, *, defaults: bool = True) -> dict[str, Any]:
        """The JSON value. Without ``defaults`` it lacks what is one, as in the identity."""
        members: dict[str, Any] = (
            msgspec.to_builtins(self, enc_hook=_written) if defaults else LEAN[type(self)](self)
        )
        return cast(dict[str, Any], _listed(members))

    def verified(self) -> Self:
        """Return a value of the same fields, each of them checked. Raises InvalidValueError."""
        try:
            value = msgspec.to_builtins(self, builtin_types=(bytes,))
        except (TypeError, RecursionError) as error:  # a field holds what JSON has no form for
            raise _invalid(type(self), error) from error
        return self.from_json(value)

    def canonical(self) -> bytes:
        """The RFC 8785 bytes of this value. A test checks that no stored value has a float."""
        return canonical_typed(msgspec.to_builtins(self, enc_hook=_written))

    def identity(self) -> bytes:
        """The canonical bytes of what is not a default: what digests in a journal are made of.

        So a field that a later release adds, with a default, leaves older journals' digests as
        they are. The default of a field must therefore never change.
        """
        return canonical_typed(LEAN[type(self)](self))


class CheckedValue(Value, metaclass=NamedValueType):
    """A value that people and other packages make: every field is checked when it is made."""

    def __post_init__(self) -> None:
        """Raise InvalidValueError for a field of a wrong type, or out of its range.

        Defaults are right. A value that holds nothing else is made without reading annotations.
        """
        for name, default in defaults_of(type(self)).items():
            value = getattr(self, name)
            if value is default:
                continue
            if isinstance(default, MadeDefault) and value == default.factory():
                continue
            kind = types_of(type(self))[name]
            if value.__class__ is kind and (kind in _PLAIN or isinstance(kind, NamedValueType)):
                continue
            try:
                converted = msgspec.convert(value, kind, dec_hook=_made)
            except _FAULTS as error:
                fault = _invalid(type(self), error, f"/{name}")
                fault.hint = fault.hint or meant(value, kind)
                raise fault from error
            if converted is not value:
                msgspec.structs.force_setattr(self, name, converted)
        self.check()

    def check(self) -> None:
        """Raise InvalidValueError for fields that do not go together."""

    if not TYPE_CHECKING:

        def replace(self, **changes: Any) -> Self:
            """Return a copy with changes. Raises InvalidValueError."""
            if refused := refusal(type(self), changes):
                raise refused
            return self.__replace__(**changes)

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        """Let settings and manifests hold such values."""
        return core_schema_of(cls, handler)

    @classmethod
    def invalid(cls, pointer: str, reason: str) -> InvalidValueError:
        """The error for a member of such a value."""
        return InvalidValueError(cls.__name__, pointer, reason)


T = TypeVar("T")


class ValueReader(Generic[T]):
    """Reads one of several kinds of values, distinguished by their tag."""

    def __init__(self, kind: Any, name: str) -> None:
        self._kind = kind
        self._name = name
        self._decoder: msgspec.json.Decoder[T] | None = None

    def read(self, data: bytes | str) -> T:
        """Read a value from JSON. Raises InvalidValueError."""
        try:
            return (self._decoder or self._prepared()).decode(data)
        except _FAULTS as error:
            raise InvalidValueError(self._name, *fault_of(error)) from error

    def from_json(self, value: Any) -> T:
        """Make a value of a JSON value. Raises InvalidValueError."""
        if self._decoder is None:
            self._prepared()
        try:
            return cast(T, msgspec.convert(value, self._kind))
        except _FAULTS as error:
            raise InvalidValueError(self._name, *fault_of(error)) from error

    def _prepared(self) -> msgspec.json.Decoder[T]:
        with _PREPARING:
            decoder = self._decoder = self._decoder or msgspec.json.Decoder(self._kind)
        return decoder


_PREPARING = RLock()
"""Held while msgspec learns a type for the first time. Another thread that needs a part of the type
would take it as it is, half learnt, and read with it: that ends the process."""

_PREPARED: set[type] = set()


def _prepare(kind: type) -> None:
    if kind not in _PREPARED:
        with _PREPARING, suppress(TypeError):  # one that only Python values can have, not JSON
            msgspec.json.Decoder(kind, dec_hook=_made)
        _PREPARED.add(kind)


def _made(kind: Any, value: Any) -> Any:
    """Read a member whose type msgspec does not know: by its own method, or from its text."""
    return value if isinstance(value, kind) else getattr(kind, "from_json", kind)(value)


def _written(value: Any) -> Any:
    return value.to_json() if hasattr(value, "to_json") else str(value)


_FAULTS = (msgspec.MsgspecError, UnicodeError, RecursionError)


def _invalid(kind: type, error: Exception, at: str = "") -> InvalidValueError:
    if isinstance(error.__cause__, InvalidValueError):  # from a CheckedValue value within
        return error.__cause__
    pointer, reason = fault_of(error)
    return InvalidValueError(kind.__name__, at + pointer, reason)


_PLAIN = frozenset({str, int, bool})
"""Classes whose values need no check but that of their class. One of a `CheckedValue` was checked
when it was made."""


def _listed(value: Any) -> Any:
    """A nested value with lists instead of tuples."""
    if isinstance(value, dict):
        members = value.items()
        return {name: _listed(m) if m.__class__ in _NESTED else m for name, m in members}
    return [_listed(item) if item.__class__ in _NESTED else item for item in value]


_NESTED = frozenset({dict, list, tuple})
"""The classes of nested values, as msgspec makes them."""


class Problem(Value):
    """One thing wrong with what a model or an author wrote.

    ``pointer`` is an RFC 6901 JSON Pointer into the checked value ("" is the whole of it),
    ``limit`` what the rule allows and ``actual`` what was found, where that is known: a float as
    its text.
    """

    pointer: str
    message: str
    limit: Plain | tuple[Plain, ...] = None
    actual: Plain | tuple[Plain, ...] = None

    def __post_init__(self) -> None:
        """Write floats as text: no stored value holds one."""
        for name in ("limit", "actual"):
            value = getattr(self, name)
            if isinstance(value, (float, list, tuple)):
                msgspec.structs.force_setattr(self, name, _without_floats(value))


def _without_floats(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_without_floats, value))
    return repr(value) if isinstance(value, float) else value
