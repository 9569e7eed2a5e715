"""``[args.NAME]`` as a file has it: every mistake in it is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AliasChoices, BaseModel, Field, GetPydanticSchema, create_model
from pydantic_core import core_schema

from artificer.contracts.arguments.types import Argument
from artificer.values.keys import KeyTable
from artificer.values.settings import model_of

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

_FIELDS: dict[str, Any] = {
    name: (field.annotation, field)
    for name, field in model_of(Argument).model_fields.items()
    if name != "written"  # which keys there are is no key
}

for bound in ("min", "max"):
    either = AliasChoices(bound, f"{bound}_float")
    _FIELDS[bound] = (_FIELDS[bound][0], Field(default=None, validation_alias=either))

ArgumentKeys: type[BaseModel] = create_model("ArgumentKeys", __base__=KeyTable, **_FIELDS)
"""The keys of an argument's table, made of :class:`Argument`, which says what they mean."""


def _argument(keys: BaseModel) -> Argument:
    """Return the argument: reading a field of a model of pydantic takes ten times as long."""
    written = keys.model_fields_set
    return Argument(**{key: getattr(keys, key) for key in written}, written=frozenset(written))


def _schema_of(_: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
    return core_schema.no_info_after_validator_function(_argument, handler(ArgumentKeys))


DeclaredArgument = Annotated[Argument, GetPydanticSchema(_schema_of)]
"""An argument in the keys of a manifest."""
