"""Arguments of any types, checked and explained by pydantic."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import PydanticJsonSchemaWarning

from artificer.backends.function.argument import (
    REQUIRED,
    Function,
    FunctionArgument,
    InvalidArgumentsError,
    unusable,
)
from artificer.backends.function.inline import inlined
from artificer.contracts.schema import MAX_PROBLEMS, pointer
from artificer.errors import ToolDefinitionError
from artificer.values.base import JsonObject, Problem
from artificer.values.text import clip, first_sentence

MAX_MESSAGE = 2_000
"""Characters of a validator's message that a model is given."""

_TYPES = (
    "Use types that JSON can express, such as str, list[int], Literal, an Enum, a dataclass or a "
    "pydantic model. A function takes other objects from its RunContext."
)


class TypedArguments:
    """The arguments of a function as a model of pydantic, and its JSON Schema."""

    def __init__(self, function: Function, arguments: Sequence[FunctionArgument]) -> None:
        """Raise ToolDefinitionError for types that have no JSON Schema."""
        # Fields have names of their own, so that no parameter can clash with a model's attribute.
        self._arguments = {f"argument_{n}": argument for n, argument in enumerate(arguments)}
        fields: dict[str, Any] = {
            key: (argument.hint, _field(function, argument))
            for key, argument in self._arguments.items()
        }
        _refuse_clash(function, [field.alias for _, field in fields.values()])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", PydanticJsonSchemaWarning)
                self._model = _model(f"{function.__name__}_arguments", fields)
                self.schema = _schema(self._model)
        except (
            PydanticUserError,
            PydanticSchemaGenerationError,
            PydanticJsonSchemaWarning,
            ToolDefinitionError,
        ) as error:
            reason = first_sentence(str(error))
            hint = getattr(error, "hint", None) or _TYPES
            why = f"has parameters without a JSON Schema: {reason}"
            raise unusable(function, why, hint) from error

    def values(self, data: bytes) -> dict[str, Any]:
        """Return the keyword arguments in JSON text. Raises InvalidArgumentsError."""
        try:
            values = self._model.model_validate_json(data)
        except ValidationError as error:
            raise InvalidArgumentsError(_problems(error)) from error
        present = values.model_fields_set
        return {
            argument.name: getattr(values, key)
            for key, argument in self._arguments.items()
            if key in present or argument.default is REQUIRED  # then the default is its Field's
        }


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    return create_model(name, __config__=ConfigDict(strict=True, extra="forbid"), **fields)


def _schema(model: type[BaseModel]) -> JsonObject:
    schema = inlined(model.model_json_schema(by_alias=True))
    schema.pop("title", None)
    schema.pop("description", None)
    schema.setdefault("properties", {})
    return schema


def _field(function: Function, argument: FunctionArgument) -> Any:
    if isinstance(argument.default, FieldInfo):
        raise unusable(
            function,
            f"has a Field as the default of {argument.name!r}",
            "Write Annotated[type, Field(...)], and a plain default.",
        )
    metadata = getattr(argument.hint, "__metadata__", ())
    declared = [extra for extra in metadata if isinstance(extra, FieldInfo)]
    options: dict[str, Any] = {"alias": _alias(function, argument.name, declared)}
    _refuse_factory(function, argument, declared)
    if argument.documented and not any(extra.description for extra in declared):
        options["description"] = argument.documented
    return Field(... if argument.default is REQUIRED else argument.default, **options)


def _alias(function: Function, name: str, declared: Sequence[FieldInfo]) -> str:
    """Return the name by which a model gives an argument: its Field's alias, or its own."""
    aliases = [field.validation_alias for field in declared if field.validation_alias is not None]
    alias = aliases[-1] if aliases else name
    if not isinstance(alias, str):
        raise unusable(
            function,
            f"has {alias!r} as the alias of {name!r}",
            "An argument has one name: write Field(alias='…').",
        )
    return alias


def _refuse_clash(function: Function, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise unusable(
                function, f"has two arguments called {name!r}", "Give one of them another alias."
            )


def _refuse_factory(
    function: Function, argument: FunctionArgument, declared: Sequence[FieldInfo]
) -> None:
    """Refuse a ``default_factory`` that could not be called, or next to another default."""
    for field in declared:
        if field.default_factory is not None and argument.default is not REQUIRED:
            raise unusable(
                function, f"has two defaults of {argument.name!r}", "Leave out the default_factory."
            )
        if field.default_factory_takes_validated_data:
            raise unusable(
                function,
                f"has a default_factory of {argument.name!r} that takes the other arguments",
                "Write a default_factory without parameters.",
            )


def _problems(error: ValidationError) -> list[Problem]:
    """Return the problems that the types find after the schema, such as a validator's."""
    return [
        Problem(pointer=pointer(list(detail["loc"])), message=clip(detail["msg"], MAX_MESSAGE))
        for detail in error.errors()[:MAX_PROBLEMS]
    ]
