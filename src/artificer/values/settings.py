"""How settings and manifests hold our own values: every mistake in one is explained.

A value of ours stops at its first fault. In a file, people want to know all of them, so pydantic
reads a model of the same fields first. It is imported only then.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from msgspec import NODEFAULT, Meta, Struct, structs

if TYPE_CHECKING:
    from pydantic import BaseModel, GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_RULES = ("ge", "gt", "le", "lt", "min_length", "max_length")


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

    fields: dict[str, Any] = {
        member.name: (
            _translated(member.type),
            ... if member.default is NODEFAULT else member.default,
        )
        for member in structs.fields(kind)
    }
    rules = ConfigDict(frozen=True, strict=True, extra="forbid")
    return create_model(kind.__name__, __config__=rules, **fields)


def _translated(hint: Any) -> Any:
    """The hint with pydantic's constraints in the place of msgspec's."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        rules = (rule for meta in inner[1:] if isinstance(meta, Meta) for rule in _rules(meta))
        return Annotated[(_translated(inner[0]), *rules)]
    if origin is tuple:
        return types.GenericAlias(tuple, tuple(map(_translated, inner)))
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
