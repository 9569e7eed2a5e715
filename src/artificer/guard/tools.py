"""The tools of a guarded run: their definitions, functions, arguments and results."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NewType,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from artificer.agent_definition import AgentDefinition
from artificer.backends.function.decorator import FunctionTool, refuse_missing_deps
from artificer.backends.function.decorator import tool as as_tool
from artificer.contracts.definition import ToolDefinition
from artificer.core.policy import Policy
from artificer.core.spec import Limits
from artificer.errors import AuthorError, CanonicalError, NotFoundError
from artificer.guard.failures import without_json
from artificer.ports import Approver, Executor
from artificer.providers.caller import CallerProvider
from artificer.values.base import JsonValue
from artificer.values.canon import canonical
from artificer.values.strict_json import ParsedObject, parse_canonical

Guardable = FunctionTool[..., Any] | Executor | Callable[..., Any]
"""A tool, an executor, or a function with type hints and a docstring."""

Guardables = Iterable[Guardable] | Guardable
"""One of them, or several."""

LIMITS = Limits(
    turns=1_000_000,
    wall_ms=100 * 365 * 86_400_000,
    waiting_counts=False,
    context_tokens=None,
    total_tokens=None,
    cost_micros=None,
    repeats=None,
    max_tokens=1,
)
"""The limits of a guarded run: how long it continues is the business of its caller."""


class GuardOptions(TypedDict, total=False):
    """The rules of guarded calls: which are allowed, who approves them, how many and how large.

    Without an ``approver``, a call that the policy asks about waits for a signal. ``deps`` are for
    the functions that take a `RunContext` first; they are never recorded, so pass them again with
    the same key.
    """

    policy: Policy | None
    approver: Approver | None
    limits: Limits | None
    deps: Any


class GuardedTools:
    """The tools behind the gate, and the agent of the run that records their calls."""

    def __init__(self, tools: Guardables, options: GuardOptions) -> None:
        """Raise ToolDefinitionError if a function cannot be a tool: which one, and why."""
        listed = list(tools) if isinstance(tools, Iterable) else [tools]
        made = [_tool(item) for item in listed]
        self.deps = options.get("deps")
        if self.deps is None:
            refuse_missing_deps(made)
        self._functions = {
            item.definition.name: item for item in made if isinstance(item, FunctionTool)
        }
        self.definitions: tuple[ToolDefinition, ...] = tuple(
            definition
            for item in made
            for definition in ((item.definition,) if isinstance(item, FunctionTool) else item.tools)
        )
        self.caller = CallerProvider()
        self.agent = AgentDefinition(
            self.caller,
            kind="chat",
            instructions="",
            tools=made,
            only=[definition.name for definition in self.definitions],
            policy=options.get("policy"),
            limits=options.get("limits") or LIMITS,
        )

    def function(self, name: str) -> Callable[..., Any]:
        """Return the function of a tool. Raises NotFoundError."""
        if name in self._functions:
            return self._functions[name].function
        known = ", ".join(self._functions) or "none"
        raise NotFoundError(f"No guarded function is called {name!r}.", hint=f"Known: {known}.")

    def signature(self, name: str) -> inspect.Signature:
        """Return the signature of a tool's function for its caller, who passes no context."""
        signature = inspect.signature(self.function(name))
        read = self._functions[name]._signature
        passed = (read.call, read.context)
        shown = [p for p in signature.parameters.values() if p.name not in passed]
        return signature.replace(parameters=shown)

    def value(self, name: str, content: str) -> JsonValue:
        """Return a recorded result: JSON, unless the function is annotated to return text.

        Of one that returns a text or None, the text ``null`` is None.
        """
        found = self._functions.get(name)
        if found is None:
            return content
        kinds = set(_kinds_of(_result_of(found.function)))
        if kinds and kinds <= {str, NoneType}:
            return None if content == "null" and NoneType in kinds else content
        with suppress(ValueError):
            value: JsonValue = json.loads(content)
            return value
        return content


def _result_of(function: Callable[..., Any]) -> Any:
    """Return the annotation of a function's result, as far as it can be read."""
    try:
        return get_type_hints(function, include_extras=True).get("return", Any)
    except Exception:  # noqa: BLE001 - a name in it may be gone, and reading it runs any code
        annotation = inspect.signature(function).return_annotation
        return str if annotation == "str" else annotation


def _kinds_of(annotation: Any) -> Iterator[Any]:
    """Yield the types of which an annotation is one, or the union."""
    if get_origin(annotation) is Annotated:
        yield from _kinds_of(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _kinds_of(member)
    elif isinstance(annotation, NewType):
        yield from _kinds_of(annotation.__supertype__)
    else:
        yield annotation


def written(tool: str, arguments: Mapping[str, Any] | str) -> str:
    """Return arguments as canonical JSON, also those that hold dates or models.

    A text that cannot be read is returned as it is: the gate says what is wrong with it. Raises
    InvalidCallError for what has no JSON form.
    """
    if isinstance(arguments, str):
        parsed = parse_canonical(arguments)
        return parsed.canonical if isinstance(parsed, ParsedObject) else arguments
    try:
        return canonical(dict(arguments)).decode()
    except (CanonicalError, TypeError):
        from pydantic_core import to_jsonable_python  # rarely needed

    try:
        return canonical(to_jsonable_python(dict(arguments))).decode()
    except (CanonicalError, ValueError, TypeError) as error:
        raise without_json(tool, error) from error


def _tool(item: Guardable) -> FunctionTool[..., Any] | Executor:
    if isinstance(item, FunctionTool) or (hasattr(item, "execute") and hasattr(item, "tools")):
        return item
    if callable(item):
        return as_tool(item)
    raise AuthorError(f"{item!r} is not a tool.", hint="Pass functions, tools or executors.")
