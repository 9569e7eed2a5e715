"""``[args.NAME]`` as a file has it: every mistake in it is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, Field, GetPydanticSchema, JsonValue
from pydantic_core import core_schema

from artificer.contracts.arguments.types import MAX_ITEMS, Argument, ArgumentType
from artificer.values.keys import KeyTable

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler


class ArgumentKeys(KeyTable):
    """The keys of an argument's table; :class:`Argument` says what they mean."""

    name: str
    type: ArgumentType = "string"
    description: str = ""
    position: int = 0
    required: bool = False
    default: JsonValue = None
    allowed: tuple[str, ...] = ()
    pattern: str | None = None
    min: int | float | None = Field(default=None, validation_alias=AliasChoices("min", "min_float"))
    max: int | float | None = Field(default=None, validation_alias=AliasChoices("max", "max_float"))
    clamp: bool = False
    schemes: Annotated[tuple[str, ...], Field(min_length=1)] = ("http", "https")
    sanitize: tuple[Literal["injection"], ...] = ()
    scope_check: bool = False
    allow_dash: bool = False
    multiline: bool = False
    list: bool = False
    max_items: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 100

    def argument(self) -> Argument:
        """Return the argument: reading a field of a model of pydantic takes ten times as long."""
        written = self.model_fields_set
        return Argument(**{key: getattr(self, key) for key in written}, written=frozenset(written))


def _schema_of(_: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
    return core_schema.no_info_after_validator_function(
        ArgumentKeys.argument, handler(ArgumentKeys)
    )


DeclaredArgument = Annotated[Argument, GetPydanticSchema(_schema_of)]
"""An argument in the keys of a manifest."""
