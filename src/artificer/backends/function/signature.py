"""From a Python function to the schema that a model must keep to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from artificer.backends.function import plain
from artificer.backends.function.argument import (
    Function,
    FunctionArgument,
    parameter_docs,
    unusable,
)
from artificer.backends.function.inline import MAX_SCHEMA_BYTES
from artificer.plugins import on_call
from artificer.ports import Call, RunContext
from artificer.values.base import JsonObject
from artificer.values.canon import canonical

if TYPE_CHECKING:
    from artificer.backends.function.typed import TypedArguments

_typed = on_call("artificer.backends.function.typed:TypedArguments")


class Signature(Struct, frozen=True):
    """A function's parameters.

    ``schema`` is for a model. ``read`` makes keyword arguments of JSON text, and raises
    InvalidArgumentsError. ``call`` names the parameter that receives the Call, and ``context`` the
    one that receives the RunContext, if there are any. ``deps`` is the type of the dependencies
    that the function cannot do without.
    """

    schema: JsonObject
    read: Callable[[bytes], dict[str, Any]]
    call: str | None
    context: str | None
    deps: Any


def signature_of(function: Function, local_names: Mapping[str, Any]) -> Signature:
    """Read a function's type hints.

    ``local_names`` are names that annotations may use in addition to the function's globals. Raises
    ToolDefinitionError, which says what cannot be used, and where.
    """
    try:
        hints = get_type_hints(function, localns=dict(local_names), include_extras=True)
    except (NameError, TypeError) as error:
        raise unusable(function, f"has a type hint that cannot be read: {error}") from error
    documented = parameter_docs(inspect.getdoc(function) or "")
    arguments: list[FunctionArgument] = []
    call = context = deps = None
    for number, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
        _check(function, parameter, hints)
        if hints[name] is Call:
            call = name
        elif RunContext in (hints[name], get_origin(hints[name])):
            if number:
                raise unusable(
                    function,
                    f"takes its RunContext as {name!r}, after other parameters",
                    f"Make {name!r} the first parameter.",
                )
            context, deps = name, _required(*get_args(hints[name]))
        else:
            text = documented.get(name)
            arguments.append(FunctionArgument(name, hints[name], parameter.default, text))
    return Signature(*_read(function, arguments), call, context, deps)


def _required(deps: Any = None) -> Any:
    """Return the type of dependencies that cannot be None; None if they can."""
    optional = get_origin(deps) in (Union, UnionType) and NoneType in get_args(deps)
    return (
        None if optional or deps in (Any, object, None, NoneType) or type(deps) is TypeVar else deps
    )


def _read(
    function: Function, arguments: Sequence[FunctionArgument]
) -> tuple[JsonObject, Callable[[bytes], dict[str, Any]]]:
    """Return the schema of the arguments, and what reads them."""
    schema = plain.schema_of(arguments)
    if schema is None or len(canonical(schema)) > MAX_SCHEMA_BYTES:
        typed: TypedArguments = _typed(function, arguments)
        return typed.schema, typed.values
    explained: Callable[[], TypedArguments] = cache(partial(_typed, function, arguments))

    def read(data: bytes) -> dict[str, Any]:
        values = plain.values_of(arguments, data)
        return explained().values(data) if values is None else values

    return schema, read


def _check(function: Function, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise unusable(
            function,
            f"takes any number of arguments as {parameter.name!r}",
            "Name every parameter: the model reads their names and types, and must keep to them.",
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise unusable(
            function,
            f"takes {parameter.name!r} by position only",
            "Arguments are given by name: remove the '/'.",
        )
    if parameter.name == "self" and "self" not in hints:
        raise unusable(
            function,
            "is a method, and its object is not known where it is defined",
            "Make it a tool when there is an object: tools=[tool(shop.buy)]. Or take the object "
            "from a RunContext.",
        )
    if parameter.name not in hints:
        raise unusable(
            function,
            f"has no type hint for {parameter.name!r}",
            f"Write for example '{parameter.name}: str'.",
        )
