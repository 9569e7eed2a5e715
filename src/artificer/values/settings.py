"""How settings and manifests hold our own values: every mistake in one is explained.

A value of ours stops at its first fault. In a file, people want to know all of them, so pydantic
reads a model of the same fields then. It is made of the value's own declaration, and pydantic is
imported only when there is a fault to explain, or a manifest to read.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import NODEFAULT, Meta, Struct

from artificer.errors import ConfigError, InvalidValueError
from artificer.values.declared import defaults_of, types_of
from artificer.values.nearest import nearest

if TYPE_CHECKING:
    from pydantic import BaseModel, GetCoreSchemaHandler
    from pydantic_core import CoreSchema, ErrorDetails

T = TypeVar("T", bound=Struct)

_RULES = ("ge", "gt", "le", "lt", "min_length", "max_length")


def checked(kind: type[T], settings: Mapping[str, Any], file: str) -> T:
    """Return the settings of a file as a value.

    Raises:
        ConfigError: a key is unknown, or a setting has a wrong value. It names all of them.
    """
    if settings.keys() <= set(kind.__struct_fields__):
        try:
            return kind(**settings)
        except InvalidValueError:  # the first fault; they are all explained
            pass
    return _explained(kind, settings, file)


def _explained(kind: type[T], settings: Mapping[str, Any], file: str) -> T:
    from pydantic import TypeAdapter, ValidationError

    try:
        # As JSON, because a strict value takes an array for a tuple from nowhere else.
        return TypeAdapter(kind).validate_json(json.dumps(settings, default=str))
    except ValidationError as error:
        faults = error.errors()
        message = "; ".join(map(_fault, faults))
        raise ConfigError(f"{file}: {message}.", hint=_suggestion(faults, kind)) from error


def _fault(fault: ErrorDetails) -> str:
    """The place in the file and what is wrong there."""
    own = fault.get("ctx", {}).get("error")
    if not isinstance(own, InvalidValueError):
        return f"{_place(fault['loc'])}: {fault['msg']}"
    steps = (int(step) if step.isdecimal() else step for step in own.pointer.split("/")[1:])
    return f"{_place((*fault['loc'], *steps))}: {own.reason}"


_EITHER = ("str", "tuple[str, ...]")
"""Steps of pydantic's that name what a setting may be, not a place in the file."""


def _place(loc: tuple[str | int, ...]) -> str:
    """A place in the file; the entries of a list are counted from 1, as verdicts count rules."""
    named = (step for step in loc if step not in _EITHER)
    steps = (f" #{step + 1}" if isinstance(step, int) else f".{step}" for step in named)
    return "".join(steps).lstrip(".")


def _suggestion(faults: list[ErrorDetails], kind: type[Struct]) -> str | None:
    for fault in faults:
        if fault["type"] == "extra_forbidden":
            return nearest(str(fault["loc"][-1]), _known(kind, fault["loc"][:-1]))
    return None


def _known(kind: type[Struct], loc: tuple[str | int, ...]) -> list[str]:
    """The keys of the section that a place is in."""
    for step in loc:
        hint = types_of(kind).get(str(step))
        kind = next(_structs(hint), kind)  # else an entry of a list, or a name of the user's
    return list(kind.__struct_fields__)


def _structs(hint: Any) -> Iterator[type[Struct]]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        yield hint
    for part in get_args(hint):
        yield from _structs(part)


def core_schema_of(kind: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """The schema with which pydantic reads and writes a value of ours."""
    from pydantic_core import core_schema

    def made(model: BaseModel) -> Any:
        return kind.from_json(model.model_dump(exclude_unset=True))

    def kept(value: Any, read: Any) -> Any:
        return value if isinstance(value, kind) else read(value)

    written = handler.generate_schema(model_of(kind))
    read = core_schema.no_info_after_validator_function(made, written)
    return core_schema.json_or_python_schema(
        json_schema=read,
        python_schema=core_schema.no_info_wrap_validator_function(kept, read),
        serialization=core_schema.plain_serializer_function_ser_schema(_to_json),
    )


def _to_json(value: Any) -> Any:
    return value.to_json()


@cache
def model_of(kind: type[Struct]) -> type[BaseModel]:
    """A pydantic model of the same fields."""
    from pydantic import ConfigDict, create_model

    defaults = defaults_of(kind)
    fields: dict[str, Any] = {
        name: (
            _translated(hint),
            ... if defaults[name] is NODEFAULT else None,  # a default is left to the value itself
        )
        for name, hint in types_of(kind).items()
    }
    rules = ConfigDict(frozen=True, strict=True, extra="forbid")
    return create_model(kind.__name__, __config__=rules, **fields)


def _translated(hint: Any) -> Any:
    """The hint with pydantic's constraints instead of msgspec's."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        rules = (rule for meta in inner[1:] if isinstance(meta, Meta) for rule in _rules(meta))
        return Annotated[(_translated(inner[0]), *rules)]
    if origin in (tuple, Mapping):
        return types.GenericAlias(origin, tuple(map(_translated, inner)))
    if origin in (Union, types.UnionType):
        return Union[tuple(map(_translated, inner))]  # noqa: UP007 - of a sequence
    return hint


def _rules(meta: Meta) -> Iterator[Any]:
    """The constraints; ``extra["from"]`` makes a value of what people may write in its place."""
    from pydantic import BeforeValidator, Field

    rules = {name: getattr(meta, name) for name in _RULES if getattr(meta, name) is not None}
    if meta.pattern is not None:
        rules["pattern"] = meta.pattern.replace(r"\Z", "$")  # its engine has no other end
    yield Field(**rules)
    if meta.extra:
        yield BeforeValidator(meta.extra["from"])
