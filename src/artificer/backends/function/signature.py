"""From a Python function to the schema that a model must keep to."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import PydanticJsonSchemaWarning

from artificer.backends.function.inline import inlined
from artificer.errors import ToolDefinitionError
from artificer.ports import Call
from artificer.values.base import JsonObject

Function = Callable[..., Any]

_PARAMETER = re.compile(r"^\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?\s*:\s+(.+)$")
_SECTION = re.compile(
    r"^\s*(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$"
)


@dataclass(frozen=True)
class Signature:
    """A function's parameters: ``arguments`` reads them from JSON, ``schema`` is for a model.

    Each field of the model has the parameter's name as its alias; ``call`` names the parameter
    that receives the Call, if there is one.
    """

    arguments: type[BaseModel]
    schema: JsonObject
    names: Mapping[str, str]
    call: str | None

    def read(self, arguments: bytes) -> dict[str, Any]:
        """Return the keyword arguments in JSON text. Raises pydantic.ValidationError."""
        values = self.arguments.model_validate_json(arguments)
        present = values.model_fields_set
        return {name: getattr(values, key) for key, name in self.names.items() if key in present}


def signature_of(function: Function, local_names: Mapping[str, Any]) -> Signature:
    """Read a function's type hints.

    ``local_names`` is what annotations may name besides the function's globals. Raises
    ToolDefinitionError, which says what cannot be used, and where.
    """
    try:
        hints = get_type_hints(function, localns=dict(local_names), include_extras=True)
    except (NameError, TypeError) as error:
        raise unusable(function, f"has a type hint that cannot be read: {error}") from error
    documented = _parameter_docs(inspect.getdoc(function) or "")
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    call = None
    for name, parameter in inspect.signature(function).parameters.items():
        _check(function, parameter, hints)
        if hints[name] is Call:
            call = name
            continue
        # Fields have names of their own, so that no parameter can clash with a model's attribute.
        key = f"argument_{len(names)}"
        names[key] = name
        fields[key] = (hints[name], _field(parameter, hints[name], documented.get(name)))
    config = ConfigDict(strict=True, extra="forbid")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PydanticJsonSchemaWarning)
            model = create_model(f"{function.__name__}_arguments", __config__=config, **fields)
            schema = inlined(model.model_json_schema(by_alias=True))
    except (
        PydanticUserError,
        PydanticSchemaGenerationError,
        PydanticJsonSchemaWarning,
        ToolDefinitionError,
    ) as error:
        reason = str(error).splitlines()[0]
        raise unusable(function, f"has parameters without a JSON Schema: {reason}") from error
    schema.pop("title", None)
    schema.pop("description", None)
    schema.setdefault("properties", {})
    return Signature(model, schema, names, call)


def description_of(function: Function) -> str:
    """The first paragraph of the docstring, as one line; empty when there is none."""
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def unusable(function: Function, reason: str, hint: str | None = None) -> ToolDefinitionError:
    """The error that names a function, its file and its line."""
    code = getattr(function, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    name = getattr(function, "__qualname__", repr(function))
    return ToolDefinitionError(f"The tool function {name!r}{place} {reason}.", hint=hint)


def _check(function: Function, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise unusable(
            function,
            f"takes any number of arguments as {parameter.name!r}",
            "Name every parameter: a model is told, and held to, what a tool takes.",
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise unusable(
            function,
            f"takes {parameter.name!r} by position only",
            "Arguments are given by name: remove the '/'.",
        )
    if parameter.name not in hints:
        raise unusable(
            function,
            f"has no type hint for {parameter.name!r}",
            f"Write for example '{parameter.name}: str'.",
        )
    if isinstance(parameter.default, FieldInfo):
        raise unusable(
            function,
            f"has a Field as the default of {parameter.name!r}",
            "Write Annotated[type, Field(...)], and a plain default.",
        )


def _field(parameter: inspect.Parameter, hint: Any, documented: str | None) -> Any:
    described = any(
        isinstance(extra, FieldInfo) and extra.description
        for extra in getattr(hint, "__metadata__", ())
    )
    options: dict[str, Any] = {"alias": parameter.name}
    if documented and not described:
        options["description"] = documented
    default = ... if parameter.default is parameter.empty else parameter.default
    return Field(default, **options)


def _parameter_docs(docstring: str) -> dict[str, str]:
    """Descriptions of parameters in Google's (``Args:``) or Sphinx's (``:param x:``) style."""
    found: dict[str, str] = {}
    in_arguments, name = False, None
    for line in docstring.splitlines():
        if section := _SECTION.match(line):
            in_arguments, name = section[1] in ("Args", "Arguments", "Parameters"), None
        elif (in_arguments or line.lstrip().startswith(":param ")) and (
            match := _PARAMETER.match(line)
        ):
            name = match[1]
            found[name] = match[2].strip()
        elif in_arguments and name and line.startswith("        "):
            found[name] += " " + line.strip()
        else:
            name = None
    return found
