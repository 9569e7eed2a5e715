"""Performing the calls of function tools: in the event loop, in threads, in processes."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from msgspec import Struct

from artificer.backends.context import ExecutorContext
from artificer.backends.function.argument import InvalidArgumentsError
from artificer.backends.function.context import context_of
from artificer.backends.function.decorator import FunctionTool, place_of, refuse_missing_deps
from artificer.backends.function.ended import Ended, end_of, failed, returned
from artificer.backends.function.threads import ThreadWork, start_thread
from artificer.backends.refusal import refuse
from artificer.contracts.definition import ToolDefinition, toolset
from artificer.errors import BugError
from artificer.ownership.descendants import mark_descendants
from artificer.ownership.fifo import holding
from artificer.plugins import on_call
from artificer.ports import Call, Executor, Probed, Receipt
from artificer.system.tasks import cancelling
from artificer.values.canon import canonical
from artificer.values.refusal import not_ok

log = logging.getLogger("artificer.backends.function.executor")

_run_in_process = on_call("artificer.backends.function.processes:run_in_process")

CANCEL_GRACE = 1.0
"""Seconds that a cancelled coroutine gets to clean up."""


class FunctionExecutor:
    """Performs the calls of function tools. ``deps`` are the dependencies of the run, and ``clean``
    takes secrets out of a text.
    """

    def __init__(
        self,
        tools: Sequence[FunctionTool[..., Any]],
        deps: Any = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        """Raises ToolDefinitionError when two tools share a name, or one lacks its ``deps``."""
        self._tools = {tool.definition.name: tool for tool in tools}
        self._definitions = toolset(tuple(tool.definition for tool in tools)).tools
        self._deps = deps
        self._clean = clean
        if deps is None:
            refuse_missing_deps(tools)

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the order of the tools."""
        return self._definitions

    async def execute(self, call: Call) -> Receipt:
        """Call the function within the call's time. An exception becomes a receipt."""
        tool = self._tools.get(call.definition.name)
        if tool is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        try:
            arguments = tool._signature.read(canonical(call.arguments))
        except InvalidArgumentsError as error:
            return refuse(call.definition.name, error.problems)
        if tool.definition.isolation == "process":
            place, seconds = place_of(tool.function), call.definition.timeout_ms / 1000
            ended = await _run_in_process(place, call.arguments, seconds, call)
            return await _receipt(call, ended, self._clean)
        return await self._perform(tool, tool.function, arguments, call)

    async def probe(self, call: Call) -> Probed:
        """Ask the tool's probe whether a call had happened (ports.Probing)."""
        tool = self._tools[call.definition.name]
        if tool._prober is None:
            return Probed(found="unknown")
        arguments = tool._signature.read(canonical(call.arguments))
        receipt = await self._perform(tool, tool._prober, arguments, call)
        if receipt.status != "ok" or receipt.content == "null":
            return Probed(found="unknown", reason="The probe could not tell.")
        if receipt.content == "false":
            return Probed(found="absent")
        return Probed(
            found="happened", content="" if receipt.content == "true" else receipt.content
        )

    async def _perform(
        self,
        tool: FunctionTool[..., Any],
        function: Callable[..., Any],
        arguments: dict[str, Any],
        call: Call,
    ) -> Receipt:
        """Call a function of a tool in this process."""
        if call.locks is not None:
            mark_descendants(call.locks)
        if tool._signature.call:
            arguments[tool._signature.call] = call
        if tool._signature.context:
            arguments[tool._signature.context] = context_of(call, self._deps)
        if inspect.iscoroutinefunction(function):
            return await _in_loop(function(**arguments), call, self._clean)
        return await _in_thread(partial(end_of, function, arguments), call, self._clean)


def executors(
    tools: Sequence[FunctionTool[..., Any]], context: ExecutorContext
) -> Iterable[Executor]:
    """Return the executor of a run's functions."""
    yield FunctionExecutor(tools, context.deps, context.redactor.clean)


# --- in the event loop --------------------------------------------------------------------------


async def _in_loop(
    work: Coroutine[Any, Any, Any], call: Call, clean: Callable[[str], str]
) -> Receipt:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    task = loop.create_task(_guarded(work, over))
    timer = loop.call_later(call.definition.timeout_ms / 1000, _finish, over)
    try:
        await over
        in_time = task.done()
    finally:
        timer.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,), timeout=CANCEL_GRACE)
            if not task.done():
                log.error("A tool swallows its cancellation and goes on: %r.", work)
                call.monitor.outlived(_Unstopped(call, task, lambda: not task.done(), clean))
    if not task.done():
        return _unstopped(call)
    if task.cancelled():
        return _cancelled() if in_time else _timed_out(call)
    ended = task.result()
    if not (in_time or ended.has_returned):
        return _timed_out(call)
    return await _receipt(call, ended, clean)  # also of one that came to its end all the same


async def _guarded(work: Coroutine[Any, Any, Any], over: asyncio.Future[None]) -> Ended:
    """Await a function's work, and finish a future at its end: `asyncio.wait` takes longer."""
    try:
        return returned(await work)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what a tool raises is its result
        return failed(error)
    finally:
        _finish(over)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


# --- in a thread --------------------------------------------------------------------------------


async def _in_thread(
    function: Callable[[], Ended], call: Call, clean: Callable[[str], str]
) -> Receipt:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + call.definition.timeout_ms / 1000
    try:
        async with asyncio.timeout_at(deadline):
            work = await start_thread(function, f"artificer tool {call.definition.name}")
    except TimeoutError:
        return Receipt(status="error", content="The tool did not start: all threads are busy.")
    try:
        await asyncio.wait((work.ended,), timeout=deadline - loop.time())
    finally:
        if not work.ended.done():
            _leave(work, call, clean)
    if not work.ended.done():
        return _unstopped(call)
    return await _receipt(call, work.ended.result(), clean)


def _leave(work: ThreadWork, call: Call, clean: Callable[[str], str]) -> None:
    """Let a thread continue, and have others learn of it: here, and in other processes."""
    if call.locks is not None:
        held = ExitStack()
        try:
            held.enter_context(holding(call.locks.own))
        except OSError as error:
            log.warning("call %s has no lock: %s", call.id, error)
        work.hold(held)
    call.monitor.outlived(_Unstopped(call, work.ended, lambda: work.alive, clean))


# --- what cannot be stopped ---------------------------------------------------------------------


class _Unstopped(Struct, frozen=True):
    """A coroutine or a thread that continues after its call (ports.Outliving)."""

    call: Call
    ended: asyncio.Future[Ended]
    is_alive: Callable[[], bool]
    clean: Callable[[str], str]

    @property
    def alive(self) -> bool:
        return self.is_alive()

    async def receipt(self) -> Receipt:
        try:
            ended = await asyncio.shield(self.ended)
        except asyncio.CancelledError:
            if cancelling() or not self.ended.cancelled():
                raise
            return _cancelled()
        return await _receipt(self.call, ended, self.clean)


# --- receipts -----------------------------------------------------------------------------------


async def _receipt(call: Call, ended: Ended | None, clean: Callable[[str], str]) -> Receipt:
    """Return the receipt of a function that has ended, or was ended because its time was up."""
    if ended is None:
        return _timed_out(call)
    ended = await ended.cut(clean)
    if ended.trace:
        log.warning("Tool %s failed in call %s.\n%s", call.definition.name, call.id, ended.trace)
    return Receipt(
        status=ended.status,
        content=ended.content,
        attachments=ended.attachments,
        data=ended.data,
    )


def _timed_out(call: Call) -> Receipt:
    seconds = call.definition.timeout_ms / 1000
    return Receipt(status="timeout", content=f"The tool did not end within {seconds:g} s.")


def _cancelled() -> Receipt:
    return Receipt(status="error", content="The tool was cancelled.")


def _unstopped(call: Call) -> Receipt:
    """Return the receipt of a function that continues although its time is up."""
    if call.definition.effect == "pure":
        return _timed_out(call)
    seconds = call.definition.timeout_ms / 1000
    detail = (
        f"{call.definition.name}: The tool did not end within {seconds:g} s, and cannot be stopped."
        " It may still happen, wholly, in part or not at all. Find out before you repeat it."
    )
    return Receipt(status="ambiguous", content=not_ok("ambiguous", detail))
