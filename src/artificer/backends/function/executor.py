"""Python functions as tools.

>>> @tool(effect="pure")
... async def add(a: int, b: int) -> int:
...     \"\"\"Add two numbers.\"\"\"
...     return a + b
>>> add.definition.name
'add'
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

from artificer.backends.context import ExecutorContext
from artificer.backends.function.argument import InvalidArgumentsError, description_of, unusable
from artificer.backends.function.forked import ForkReport, run_forked
from artificer.backends.function.results import content_of, prepare, split_result
from artificer.backends.function.signature import Signature, signature_of
from artificer.backends.refusal import refuse
from artificer.contracts.definition import (
    DEFAULT_TIMEOUT_MS,
    EffectClass,
    Risk,
    ToolDefinition,
    Trust,
)
from artificer.contracts.definition import toolset as toolset_of
from artificer.errors import BugError, InvalidValueError, places
from artificer.ports import Call, Executor, Probed, Receipt
from artificer.values.canon import canonical
from artificer.values.text import clip

log = logging.getLogger("artificer.backends.function.executor")

MAX_ERROR = 2_000
"""Characters of an exception's message that a model is given."""

CANCEL_GRACE = 1.0
"""Seconds that a cancelled coroutine gets to clean up."""

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


class ToolOptions(TypedDict, total=False):
    """The options of ``@tool``: fields of the tool's definition, ``timeout`` and ``probe``.

    ``name`` and ``description`` are the function's own by default. ``trust`` is
    "untrusted" for what returns other people's words, ``sensitive`` is for what such words must
    not reach unasked. ``resources`` such as ``["file:{path}"]`` keep those calls of one turn apart
    that share one. ``timeout`` is in seconds.

    ``probe`` is a function with the same parameters that a ``once`` tool is asked after a crash:
    True or the call's result when it had happened, False when it had not, None when it cannot tell.
    """

    name: str
    description: str
    effect: EffectClass
    risk: Risk
    trust: Trust
    sensitive: bool
    human_approval: bool
    resources: Sequence[str]
    timeout: float
    probe: Callable[..., Any]


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a function a tool; usable bare or with :class:`ToolOptions`.

    The schema comes from the type hints (``Annotated[int, Meta(ge=1)]`` for constraints), the
    description from the docstring's first paragraph. A parameter annotated ``Call`` receives the
    call, with its idempotency ``key``, and is not shown to the model.

    An ``async def`` runs in the event loop and is cancelled when its time is up: it must not block,
    nor swallow the cancellation. A ``def`` runs in a forked process of its own, which is killed
    with all it started when its time is up: what it changes in memory stays there.

    Raises:
        ToolDefinitionError: the function cannot be a tool; says which function, where and why.
    """
    frame = inspect.currentframe()
    local_names = frame.f_back.f_locals if frame and frame.f_back else {}

    def decorate(function: Callable[P, R]) -> FunctionTool[P, R]:
        _check(function)
        signature = signature_of(function, local_names)
        prepare(signature.returns)
        if (probe := options.get("probe")) is not None:
            _check_probe(function, probe)
        definition = _definition(function, signature, options)
        return FunctionTool(function, definition, signature, options.get("probe"))

    return decorate(function) if function is not None else decorate


class FunctionExecutor:
    """Performs the calls of function tools."""

    def __init__(self, tools: Sequence[FunctionTool[..., Any]]) -> None:
        """Raises ToolDefinitionError when two tools share a name."""
        self._tools = {tool.definition.name: tool for tool in tools}
        self._definitions = toolset_of(tuple(tool.definition for tool in tools)).tools

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the given order."""
        return self._definitions

    async def execute(self, call: Call) -> Receipt:
        """Run the function within the call's time. What it raises becomes a receipt."""
        tool = self._tools.get(call.definition.name)
        if tool is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        try:
            arguments = tool._signature.read(canonical(call.arguments))
        except InvalidArgumentsError as error:
            return refuse(call.definition.name, error.problems)
        return _receipt(call, await _perform(tool, tool.function, arguments, call))

    async def probe(self, call: Call) -> Probed:
        """Ask the tool's probe whether a call had happened (ports.Probing)."""
        tool = self._tools[call.definition.name]
        if tool._prober is None:
            return Probed(found="unknown")
        arguments = tool._signature.read(canonical(call.arguments))
        report = await _perform(tool, tool._prober, arguments, call)
        if report is None or report.status != "ok" or report.content == "null":
            return Probed(found="unknown", reason="The probe could not tell.")
        if report.content == "false":
            return Probed(found="absent")
        return Probed(found="happened", content="" if report.content == "true" else report.content)


def executors(
    tools: Sequence[FunctionTool[..., Any]], context: ExecutorContext
) -> Iterable[Executor]:
    """Return the executor of a run's functions."""
    yield FunctionExecutor(tools)


def _check(function: Callable[..., Any]) -> None:
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise unusable(function, "is not a function", "Write a def or an async def around it.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise unusable(function, "yields", "Return the whole result, for example as a list.")
    if not inspect.iscoroutinefunction(function) and not hasattr(os, "fork"):
        raise unusable(
            function, "needs a process of its own, and this system has no fork", "Use async def."
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


def _definition(
    function: Callable[..., Any], signature: Signature, options: ToolOptions
) -> ToolDefinition:
    facts: dict[str, Any] = {
        "name": function.__name__,
        "description": description_of(function),
        "timeout_ms": round(options.get("timeout", DEFAULT_TIMEOUT_MS / 1000) * 1000),
        "probe": "probe" in options,
        **{name: value for name, value in options.items() if name not in ("timeout", "probe")},
    }
    facts["resources"] = tuple(facts.get("resources", ()))
    if not facts["description"]:
        raise unusable(
            function, "has no description", "Write a docstring: it is what the model reads."
        )
    try:
        return ToolDefinition(input_schema=signature.schema, **facts)
    except InvalidValueError as error:
        reason = f"has an unusable {error.pointer[1:]}: it {error.reason}"
        raise unusable(function, reason) from error


async def _perform(
    tool: FunctionTool[..., Any],
    function: Callable[..., Any],
    arguments: dict[str, Any],
    call: Call,
) -> ForkReport | None:
    """Run a function of a tool: in the event loop, or in a process of its own."""
    if tool._signature.call:
        arguments[tool._signature.call] = call
    seconds = call.definition.timeout_ms / 1000
    if inspect.iscoroutinefunction(function):
        return await _run_async(function(**arguments), seconds)
    lock = call.locks.own if call.locks is not None else None
    return await run_forked(functools.partial(_run, function, arguments), seconds, lock)


async def _run_async(work: Coroutine[Any, Any, Any], seconds: float) -> ForkReport | None:
    task = asyncio.create_task(_guarded(work))
    try:
        done, _ = await asyncio.wait((task,), timeout=seconds)
        if done:
            return (
                ForkReport("error", "The tool was cancelled.")
                if task.cancelled()
                else task.result()
            )
        return None
    finally:
        if not task.done():
            task.cancel()
            done, _ = await asyncio.wait((task,), timeout=CANCEL_GRACE)
            if not done:
                log.error("A tool swallows its cancellation and goes on: %r.", work)


async def _guarded(work: Coroutine[Any, Any, Any]) -> ForkReport:
    try:
        return _returned(await work)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what a tool raises is its result
        return _failure(error)


def _run(function: Callable[..., Any], arguments: Mapping[str, Any]) -> ForkReport:
    try:
        return _returned(function(**arguments))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what a tool raises is its result
        return _failure(error)


def _returned(result: Any) -> ForkReport:
    rest, attachments = split_result(result)
    return ForkReport("ok", content_of(rest), attachments=attachments)


def _failure(error: BaseException) -> ForkReport:
    message = clip(f"{type(error).__name__}: {error}", MAX_ERROR)
    return ForkReport("error", message, places(error))


def _receipt(call: Call, report: ForkReport | None) -> Receipt:
    if report is None:
        seconds = call.definition.timeout_ms / 1000
        return Receipt(status="timeout", content=f"The tool did not end within {seconds:g} s.")
    if report.trace:
        log.warning("Tool %s failed in call %s.\n%s", call.definition.name, call.id, report.trace)
    return Receipt(status=report.status, content=report.content, attachments=report.attachments)
