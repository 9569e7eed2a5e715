"""The Python value of a final reply: an instance of a type, or the arguments of a function.

Seeds: 004, ``LlmTextFormat``. A type is a pydantic model, a dataclass, a TypedDict, ``list[int]``,
or a union of such types; a function gets the members of the reply as its arguments.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from functools import partial, wraps
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from msgspec import Struct

from artificer.contracts.schema import MAX_PROBLEMS, pointer
from artificer.errors import AuthorError
from artificer.values.arguments import shown, yields
from artificer.values.base import JsonObject, JsonValue, Problem
from artificer.values.text import clip, first_sentence

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=Any)
else:
    from typing import TypeVar

    OutputT = TypeVar("OutputT")

_NOT_IN_A_LABEL = re.compile(r"[^A-Za-z0-9]+")
LONGEST_MESSAGE = 500


class RejectedOutputError(Exception):
    """A reply that its type does not take, with every violation."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = tuple(problems[:MAX_PROBLEMS])


class OutputType(Struct, frozen=True):
    """A type, or a function, as the output of a run.

    ``name`` is recorded. ``parse`` makes the value of JSON that fits the ``schema``, or raises
    :class:`RejectedOutputError`; for a ``function`` that value is ``(args, kwargs)``.
    """

    name: str
    schema: JsonObject
    parse: Callable[[str], Any]
    function: Callable[..., Any] | None = None


def output_type(source: Any) -> OutputType:
    """Return how a type, a union of types, or a function reads a reply.

    Raises:
        AuthorError: it has no JSON Schema.
    """
    if isinstance(source, (list, tuple)):
        raise AuthorError(
            f"The output of an agent is a {type(source).__name__}, not a type.",
            hint=_union_of(source),
        )
    if isinstance(source, (str, bytes)):
        raise AuthorError(
            f"The output of an agent is {shown(source)}, a text and not a type.",
            hint="Write the type itself, without quotation marks. Without an output, a run ends in "
            "text.",
        )
    if isinstance(source, partial) or yields(source):
        what = "yields" if yields(source) else "has no name that could be recorded"
        raise AuthorError(
            f"The output of an agent is {shown(source)}, which {what}.",
            hint="Pass a def, which returns the output, or raises ValueError to reject a reply.",
        )
    if inspect.isroutine(source):
        return _of_function(source)
    if get_origin(source) in (Union, UnionType):
        return _of_union(source, get_args(source))
    adapter, schema = _adapter(source)
    name = type_name(source)
    return OutputType(name, schema, lambda text: _parse(adapter, text, name))


def _union_of(members: Sequence[Any]) -> str:
    """Return how to write what a list of types and functions means."""
    if not members:
        return "Pass a type."
    if any(map(inspect.isroutine, members)):
        return "Pass one function; a parameter of it can be a union: def act(what: Order | Refund)."
    return f"Write a union: output={' | '.join(getattr(m, '__name__', repr(m)) for m in members)}"


def type_name(source: Any) -> str:
    """Return the name of a type or of a function, as it is recorded."""
    if isinstance(source, type) or inspect.isroutine(source):
        return f"{source.__module__}.{source.__qualname__}"
    return repr(source)


def _of_function(function: Callable[..., Any]) -> OutputType:
    """Return the output type whose schema is a function's parameters."""

    @wraps(function)
    def arguments(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    adapter, schema = _adapter(arguments)
    if schema.get("type") != "object" or not schema.get("properties"):
        raise AuthorError(
            f"The parameters of {function.__qualname__} are not the members of a JSON object.",
            hint="Use named parameters with type hints, without *args and positional-only ones.",
        )
    schema = {"title": function.__name__, "description": inspect.getdoc(function) or "", **schema}
    name = type_name(function)
    return OutputType(name, schema, lambda text: _parse(adapter, text, name), function)


def _of_union(source: Any, members: Sequence[Any]) -> OutputType:
    """Return the output type of a union: an object whose one member names the type."""
    from pydantic import TypeAdapter

    name, adapters = type_name(source), dict[str, TypeAdapter[Any]]()
    for member in members:
        label = _label(member)
        if label in adapters:
            raise AuthorError(
                f"Two types of the output {source!r} are named {label}.", hint="Rename one of them."
            )
        adapters[label], _ = _adapter(member)
    inputs = [(label, "validation", adapter) for label, adapter in adapters.items()]
    found, shared = TypeAdapter.json_schemas(inputs)  # type: ignore[arg-type]
    schema: JsonObject = {
        "title": " or ".join(adapters),
        "description": "Exactly one of these members.",
        "type": "object",
        "properties": {label: found[label, "validation"] for label in adapters},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        **shared,
    }

    def parse(text: str) -> Any:
        ((label, value),) = json.loads(text).items()
        return _parse(adapters[label], json.dumps(value), name, label)

    return OutputType(name, schema, parse)


def _label(member: Any) -> str:
    if member is type(None):
        return "none"
    if isinstance(member, type) and not get_args(member):
        return member.__name__
    names = [member.__name__, *(_label(part) for part in get_args(member))]
    return _NOT_IN_A_LABEL.sub("_", "_".join(names)).strip("_")


def _adapter(source: Any) -> tuple[TypeAdapter[Any], JsonObject]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(source)
        return adapter, adapter.json_schema()
    except (PydanticUserError, NameError) as error:
        reason = first_sentence(getattr(error, "message", str(error)))
        hint = (
            "Pass a JSON Schema, a pydantic model, a dataclass, a TypedDict, a union of such "
            "types, or a function with type hints."
        )
        if inspect.isroutine(source):
            hint = (
                "A function gets what the model writes, and no RunContext. Pass a method of an "
                "object that has the rest: output=shop.book."
            )
        raise AuthorError(
            f"{type_name(source)} has no JSON Schema: {reason}.", hint=hint
        ) from error


def _parse(adapter: TypeAdapter[Any], text: str, name: str, within: str = "") -> Any:
    """Make the value. Raises RejectedOutputError, or AuthorError when a validator breaks."""
    from pydantic import ValidationError

    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise RejectedOutputError(problems_of(error, text, within)) from error
    except Exception as error:  # the validator is the author's code
        raise broken(f"A validator of {name}", error) from error


def problems_of(error: ValidationError, text: str, within: str = "") -> list[Problem]:
    """Return the violations that pydantic has found in a JSON text, each with its pointer."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    value = json.loads(text)
    return [
        Problem(
            pointer=pointer([*([within] if within else []), *_place(one, value)]),
            message=clip(one["msg"], LONGEST_MESSAGE),
        )
        for one in found
    ]


def _place(violation: ErrorDetails, value: JsonValue) -> list[str | int]:
    """Return the path of a violation in the JSON, without the names that pydantic adds to it."""
    path: list[str | int] = []
    missing = violation["loc"][-1] if violation["type"].startswith("missing") else None
    for key in violation["loc"]:
        if (isinstance(value, dict) and key in value and isinstance(key, str)) or (
            isinstance(value, list) and isinstance(key, int) and key < len(value)
        ):
            path.append(key)
            value = value[key]  # type: ignore[index]
        elif key == missing:
            path.append(key)
    return path


def broken(what: str, error: BaseException) -> AuthorError:
    """Return the error for code of the output's author that failed, instead of rejecting."""
    return AuthorError(
        f"{what} failed: {_words(error)}, {_place_of(error)}.",
        hint="Fix it and resume the run: the reply is recorded and is checked again. A value is "
        "rejected with ValueError or AssertionError.",
    )


def _words(error: BaseException) -> str:
    try:
        return clip(repr(error), LONGEST_MESSAGE)
    except Exception:  # noqa: BLE001 - it is the author's class
        return type(error).__name__


def _place_of(error: BaseException) -> str:
    """Return the place of the last frame of an error's traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "at an unknown place"
    code = trace.tb_frame.f_code
    return f"in {code.co_qualname} at {code.co_filename}:{trace.tb_lineno}"
