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
        self._names = {f"argument_{n}": argument.name for n, argument in enumerate(arguments)}
        fields: dict[str, Any] = {
            key: (argument.hint, _field(function, argument))
            for key, argument in zip(self._names, arguments, strict=True)
        }
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
        return {name: getattr(values, key) for key, name in self._names.items() if key in present}


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
    described = any(
        isinstance(extra, FieldInfo) and extra.description
        for extra in getattr(argument.hint, "__metadata__", ())
    )
    options: dict[str, Any] = {"alias": argument.name}
    if argument.documented and not described:
        options["description"] = argument.documented
    return Field(... if argument.default is REQUIRED else argument.default, **options)


def _problems(error: ValidationError) -> list[Problem]:
    """Return the problems that the types find after the schema, such as a validator's."""
    return [
        Problem(pointer=pointer(list(detail["loc"])), message=clip(detail["msg"], MAX_MESSAGE))
        for detail in error.errors()[:MAX_PROBLEMS]
    ]
