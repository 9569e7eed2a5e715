"""Python functions as tools.

>>> @tool(effect="pure")
... async def add(a: int, b: int) -> int:
...     \"\"\"Add two numbers.\"\"\"
...     return a + b
>>> add.definition.name
'add'
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack, overload

from artificer.backends.function.argument import description_of, unusable
from artificer.backends.function.signature import Signature, signature_of
from artificer.contracts.definition import (
    DEFAULT_TIMEOUT_MS,
    EffectClass,
    Isolation,
    Risk,
    ToolDefinition,
    Trust,
)
from artificer.errors import InvalidValueError, ToolDefinitionError
from artificer.values.arguments import milliseconds, shown
from artificer.values.parameters import refuse_unknown

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(eq=False, repr=False)
class FunctionTool(Generic[P, R]):
    """A function with the definition under which a model may call it. Still callable itself."""

    function: Callable[P, R]
    definition: ToolDefinition
    _signature: Signature
    _prober: Callable[P, Any] | None = None

    def __post_init__(self) -> None:
        """Take over the name and the documentation of the function."""
        functools.update_wrapper(self, self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> str:
        """Pickle it as a function is: by the name under which its module has it."""
        return self.function.__qualname__

    def __repr__(self) -> str:
        return f"<the tool {self.definition.name!r}>"


class ToolOptions(TypedDict, total=False):
    """The options of ``@tool``: fields of the tool's definition, ``timeout`` and ``probe``.

    ``name`` and ``description`` are the function's own by default. ``trust`` is
    "untrusted" for what returns other people's words, ``sensitive`` is for what such words must
    not reach unasked. ``resources`` such as ``["file:{path}"]`` keep those calls of one turn apart
    that share one. ``timeout`` is in seconds. ``isolation`` is "thread" for a ``def`` by default;
    with "process" every call has a clean process, which is killed when its time is up.

    ``probe`` is a function with the same parameters that a ``once`` tool is asked after a crash:
    True or the call's result when it had happened, False when it had not, None when it cannot tell.
    ``fenced`` promises that what the tool and its probe ask keeps the highest ``fencing_token`` for
    each ``key`` and rejects lower ones: False then counts where a former owner may still live.
    """

    name: str
    description: str
    effect: EffectClass
    risk: Risk
    trust: Trust
    sensitive: bool
    human_approval: bool
    resources: list[str] | tuple[str, ...]
    timeout: float
    isolation: Literal["thread", "process"]
    probe: Callable[..., Any]
    fenced: bool


def refuse_missing_deps(tools: Iterable[object]) -> None:
    """Raise ToolDefinitionError if a function tool needs dependencies; its run has none."""
    for tool in tools:
        if isinstance(tool, FunctionTool) and (needed := tool._signature.deps) is not None:
            name = getattr(needed, "__name__", str(needed))
            raise unusable(
                tool.function,
                f"needs dependencies of type {name}, and the run has none",
                "Pass them to the run: agent.run(…, deps=…), and again to resume it; or give the "
                "agent a function that makes them: Agent(…, deps_factory=make). Guarded tools "
                "take them too: world.guard(…, deps=…).",
            )


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a function a tool; usable bare or with :class:`ToolOptions`.

    The schema comes from the type hints (``Annotated[int, Meta(ge=1)]`` for constraints), the
    description from the docstring's first paragraph. A first parameter annotated
    ``RunContext[Deps]`` receives the run's dependencies and the call's idempotency ``key``; it is
    not shown to the model. Nor is a parameter annotated ``Call``, which receives the call.

    An ``async def`` runs in the event loop and is cancelled when its time is up: it must not block,
    nor swallow the cancellation. A ``def`` runs in a thread, which cannot be stopped: when its time
    is up, the call is ``ambiguous`` unless it is ``pure``. ``isolation="process"`` runs each call
    in a clean process, which is killed with all it started when its time is up.

    Raises:
        ToolDefinitionError: the function cannot be a tool; says which function, where and why.
    """
    refuse_unknown("@tool", options, ToolOptions.__annotations__, _meant)
    frame = inspect.currentframe()
    local_names = frame.f_back.f_locals if frame and frame.f_back else {}

    def decorate(function: Callable[P, R]) -> FunctionTool[P, R]:
        _check(function)
        signature = signature_of(function, local_names)
        if (probe := options.get("probe")) is not None:
            _check_probe(function, probe)
        definition = _definition(function, signature, options)
        _check_isolation(function, signature, definition.isolation)
        _check_fenced(function, signature, definition)
        return FunctionTool(function, definition, signature, options.get("probe"))

    return decorate(function) if function is not None else decorate


_HABITS = {
    "description_override": "description",
    "name_override": "name",
    "needs_approval": "human_approval",
    "requires_approval": "human_approval",
    "timeout_seconds": "timeout",
}
"""Names in other libraries, and those of ours."""


def _meant(name: str, _: Iterable[str]) -> str | None:
    if name in ("retries", "max_retries"):
        return "Raise an exception: the model reads it and calls again, within Limits(turns=…)."
    return f"Write {_HABITS[name]}=…" if name in _HABITS else None


def place_of(function: Callable[..., Any]) -> str:
    """Return where a function can be imported from: ``module:name``."""
    return f"{function.__module__}:{function.__qualname__}"


def _check(function: Callable[..., Any]) -> None:
    if isinstance(function, str):
        raise ToolDefinitionError(
            f"@tool takes no value by position, not {shown(function)}.",
            hint="Pass its options by name: @tool(name=…, description=…).",
        )
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise unusable(function, "is not a function", "Write a def or an async def around it.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise unusable(function, "yields", "Return the whole result, for example as a list.")


def _check_isolation(
    function: Callable[..., Any], signature: Signature, isolation: Isolation
) -> None:
    """Refuse what a thread or a process cannot run."""
    if isolation == "thread" and inspect.iscoroutinefunction(function):
        raise unusable(
            function, "is an async def, which runs in the event loop", "Leave out the isolation."
        )
    if isolation != "process":
        return
    if function.__module__ == "__main__" or "<" in function.__qualname__:
        raise unusable(
            function,
            "cannot be imported by the process that shall run it",
            "Define it at the top level of a module that the program imports.",
        )
    if inspect.ismethod(function):
        raise unusable(
            function,
            "is a method, whose object is not in the process that shall run it",
            "Use a function, and pass what it needs as arguments.",
        )
    if signature.context is not None:
        raise unusable(
            function,
            "takes a RunContext, whose dependencies are not in the process that shall run it",
            "Use isolation='thread', or take a parameter annotated Call for the idempotency key.",
        )


def _check_probe(function: Callable[..., Any], probe: Callable[..., Any]) -> None:
    """Refuse a probe that could not be called as its tool is: it would break after a crash only."""
    hint = "Give the probe the tool's parameters, with defaults where the tool has them."
    wanted = inspect.signature(function).parameters.values()
    needed = [p.name for p in wanted if p.default is p.empty]
    try:
        taken = inspect.signature(probe)
        for names in (needed, [p.name for p in wanted]):
            taken.bind(**dict.fromkeys(names))
    except (TypeError, ValueError) as error:
        raise unusable(function, f"has a probe with other parameters: {error}", hint) from error
    if inspect.isgeneratorfunction(probe) or inspect.isasyncgenfunction(probe):
        raise unusable(function, "has a probe that yields", "Return True, False, None or a result.")


def _check_fenced(
    function: Callable[..., Any], signature: Signature, definition: ToolDefinition
) -> None:
    """Refuse a promise that could not be kept, or that nobody would rely on."""
    if not definition.fenced:
        return
    if not definition.probe:
        raise unusable(function, "is fenced and has no probe", "Give it a probe, or leave it out.")
    if definition.effect not in ("once", "keyed"):
        why = f"is fenced, and a call that is {definition.effect} is just repeated"
        raise unusable(function, why, "Make it 'once' or 'keyed', or leave it out.")
    if signature.call is None and signature.context is None:
        raise unusable(
            function,
            "is fenced and does not take the fencing token",
            "Take a RunContext, or a parameter annotated Call, and pass its fencing_token and key "
            "on, in the probe too.",
        )


def _resources(
    function: Callable[..., Any], signature: Signature, resources: Any
) -> tuple[str, ...]:
    """Return the resources of a tool. Refuse what would keep no calls apart."""
    if not isinstance(resources, (list, tuple)) or not all(
        isinstance(one, str) for one in resources
    ):
        raise unusable(
            function,
            f"has resources that are no list of texts: {shown(resources)}",
            "Write for example resources=['db'], or resources=['file:{path}'].",
        )
    arguments: Any = signature.schema["properties"]
    for place in re.findall(r"\{([^{}]*)\}", "\n".join(resources)):
        if place not in arguments:
            raise unusable(
                function,
                f"has resources with the place {{{place}}}, which is not an argument",
                f"Its arguments are {', '.join(arguments) or 'none'}.",
            )
    return tuple(resources)


def _definition(
    function: Callable[..., Any], signature: Signature, options: ToolOptions
) -> ToolDefinition:
    try:
        timeout_ms = milliseconds(options.get("timeout", DEFAULT_TIMEOUT_MS / 1000))
    except ValueError as error:
        raise unusable(function, f"has an unusable timeout: it {error}") from error
    facts: dict[str, Any] = {
        "name": function.__name__,
        "description": description_of(function),
        "timeout_ms": timeout_ms,
        "probe": "probe" in options,
        "isolation": "" if inspect.iscoroutinefunction(function) else "thread",
        **{name: value for name, value in options.items() if name not in ("timeout", "probe")},
    }
    facts["resources"] = _resources(function, signature, options.get("resources", ()))
    if not facts["description"]:
        hint = "Write a docstring: it is what the model reads."
        if sys.flags.optimize > 1:
            hint = "python -OO removes docstrings: pass @tool(description=…), or use -O."
        raise unusable(function, "has no description", hint)
    try:
        return ToolDefinition(input_schema=signature.schema, **facts)
    except InvalidValueError as error:
        reason = f"has an unusable {error.pointer[1:]}: it {error.reason}"
        raise unusable(function, reason, error.hint) from error
