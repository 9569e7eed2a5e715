"""Tools of any program behind the gate, in their own run.

>>> async with world.guard([charge], key="order-42") as guarded:
...     await guarded.call("charge", {"order": "A"})
'charged A'
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import update_wrapper
from typing import Any, NamedTuple, Self, Unpack

from artificer.contracts.definition import ToolDefinition
from artificer.core.signals import FollowUp, Signal
from artificer.errors import (
    ArtificerError,
    AuthorError,
    CallError,
    NotFoundError,
    OperatorError,
    WaitingCallError,
)
from artificer.guard.calls import GuardedCall, GuardedCalls
from artificer.guard.failures import error_of, waiting
from artificer.guard.tools import Guardables, GuardedTools, GuardOptions, written
from artificer.ports import BlobStore
from artificer.runs import History, Run
from artificer.system.tasks import end_all, shielded
from artificer.values.arguments import new_run_id
from artificer.values.base import JsonValue
from artificer.values.blocks import ToolUseBlock
from artificer.values.parameters import PlaceOf, named_parameters, refuse_unknown


class RecordedRuns(NamedTuple):
    """The operations of a world on runs."""

    run: Callable[..., Awaitable[Run]]
    resume: Callable[..., Awaitable[Run]]
    send: Callable[[str, Signal], Awaitable[int]]
    history: Callable[[str], Awaitable[History]]


@named_parameters()
class Guarded:
    """Tools whose calls are checked, recorded before they run, and never repeated silently.

    All calls of one ``key`` are one run, and the key is its id. In a program that starts again with
    the same key, a call that had ended returns its recorded result; one that was in progress is
    ambiguous, unless its effect class lets it run again. Leaving the ``async with`` block without
    an exception ends the run; otherwise it stays open for the next program.
    """

    def __init__(
        self,
        world: RecordedRuns,
        blobs: BlobStore,
        tools: Guardables,
        key: str,
        **options: Unpack[GuardOptions],
    ) -> None:
        self._world = world
        self._blobs = blobs
        self._tools = GuardedTools(tools, options)
        self._caller = self._tools.caller
        self._approver = options.get("approver")
        self._calls = GuardedCalls()
        self._task: asyncio.Task[Run] | None = None
        self._lock = asyncio.Lock()
        self._exists: bool | None = None
        self._run: Run | None = None
        self._closed = False
        self.key = key

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions of the tools, with their names, descriptions and input schemas."""
        return self._tools.definitions

    async def call(
        self, name: str, arguments: Mapping[str, Any] | str = "{}", *, call_id: str | None = None
    ) -> JsonValue:
        """Make a call and return its result, or the one that was recorded for it.

        ``call_id`` is the caller's own name for this very call, where that is the same after a
        crash. Without one, the first call of this process with a tool and arguments means the first
        one that is recorded, the second means the second, and so on.

        >>> await guarded.call("charge", {"order": "A"})
        'charged A'

        Raises:
            InvalidCallError: the tool does not exist, or its arguments are not valid.
            DeniedCallError: the policy or a person does not allow it.
            FailedCallError: the tool failed, or its time was up.
            WaitingCallError: a person has to answer first; make the call again after that.
            AmbiguousCallError: it may have happened before a crash.
            AuthorError: the ``async with`` block of the guard has ended.
            OwnedError: a living process has the run of this key.
        """
        text = written(name, arguments)
        await self._ready()
        call = self._calls.find(name, text, call_id)
        if call is None:
            call = self._calls.begin(name, text, call_id)
            self._caller.submit(ToolUseBlock(id=call.id, name=name, arguments=text))
        call.claimed = True
        try:
            return await self._ended(call)
        except BaseException:  # also a cancellation: the caller may ask again
            call.claimed = call.status is not None and call.status != "ambiguous"
            raise

    async def answer(
        self, name: str, arguments: Mapping[str, Any] | str, *, call_id: str | None = None
    ) -> JsonValue:
        """Make a call for a model, and return what the model reads of it.

        That is the result, or the recorded text of a refusal, a failure or an ambiguous call.
        ``arguments`` may be JSON text as a model wrote it.

        >>> await guarded.answer("charge", '{"order": 1}')
        '{"detail":"charge: Not run: 1 problem. …","ok":false,…}'

        Raises:
            WaitingCallError: a person has to answer first; make the call again after that.
            OwnedError: a living process has the run of this key.
        """
        try:
            return await self.call(name, arguments, call_id=call_id)
        except WaitingCallError:
            raise
        except CallError as error:
            return error.content

    def __getitem__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Return a tool as an async function with the tool's own parameters.

        >>> await guarded["charge"](order="A")
        'charged A'

        Raises:
            NotFoundError: no such tool.
        """
        function, signature = self._tools.function(name), self._tools.signature(name)

        async def guarded(*args: Any, **kwargs: Any) -> Any:
            return await self.call(name, signature.bind(*args, **kwargs).arguments)

        update_wrapper(guarded, function)
        vars(guarded)["__signature__"] = signature
        return guarded

    async def finish(self, text: str = "The caller has ended.") -> None:
        """End the run with a text. A later call with the same key continues it."""
        await self._ready()
        if self._exists and not self._is_over:
            self._caller.end(text)
            self._run = await self._running()

    async def aclose(self) -> None:
        """Take no more calls; the run stays open. What is in progress is ambiguous afterwards.

        A cancellation takes effect when that has ended.
        """
        self._closed = True
        if self._task is not None:
            try:
                await shielded(end_all([self._task]))
            finally:
                self._task = None

    async def __aenter__(self) -> Self:
        await self._ready()
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                await self.finish()
        finally:
            await self.aclose()

    @property
    def _is_over(self) -> bool:
        return self._run is not None and self._run.reason is not None

    async def _ready(self) -> None:
        """Read what is recorded under this key; settle what a crash left open; take signals.

        Raises AuthorError after :meth:`aclose`: nothing would end the run again.
        """
        if self._closed:
            raise AuthorError(
                f"The guard of {self.key!r} is closed.",
                hint="Make calls within `async with world.guard(…)`, or guard the tools again.",
            )
        async with self._lock:
            if self._exists is None:
                self._exists = await self._attach()
            executing = self._task is not None and not self._task.done()
            if not self._exists or executing or self._is_over:
                return
            self._caller.listening.clear()
            running = self._running()
            await _first(running, self._caller.listening)
            if running.done():
                self._run = running.result()

    async def _attach(self) -> bool:
        try:
            history = await self._world.history(self.key)
        except NotFoundError:
            return False
        if history.run.state.run_spec.provider != self._caller.name:
            raise OperatorError(f"Run {self.key!r} is not a guarded run.", hint="Use another key.")
        self._calls.read(history.lines)
        return True

    async def _ended(self, call: GuardedCall) -> JsonValue:
        """Wait until a call has ended, and return its result."""
        while call.status is None:
            running = self._running()
            call.changed.clear()
            await _first(running, call.changed)
            if call.status is None and running.done():
                self._idle(call, running)
        return self._result(call)

    def _idle(self, call: GuardedCall, running: asyncio.Task[Run]) -> None:
        """Raise why a call has no result now that the run is idle, unless the run can continue."""
        try:
            if running.cancelled():
                why = f"The guard was closed while {call.tool} was under way."
                raise OperatorError(why, hint=f"Guard the tools again, with key={self.key!r}.")
            self._run = running.result()
            if self._run.reason is None:
                raise waiting(call, self._run)
            self._require_open(self._run)
        except ArtificerError:
            self._caller.withdraw(call.id)
            self._calls.forget(call)
            raise

    def _require_open(self, run: Run) -> None:
        if run.reason != "done":
            why = f"Run {self.key!r} takes no more calls: it has ended with {run.reason!r}."
            raise OperatorError(why, hint=f"artificer explain {self.key}")

    def _running(self) -> asyncio.Task[Run]:
        """The task that executes the run, started again when the run was idle."""
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._execute())
        return self._task

    async def _execute(self) -> Run:
        over, self._run = self._run if self._is_over else None, None
        if not self._exists:
            return await self._begin()
        if over is not None:
            self._require_open(over)
            await self._world.send(self.key, FollowUp(text="The caller continues.").verified())
        return await self._world.resume(
            self.key,
            self._tools.agent,
            approver=self._approver,
            observer=self._calls,
            deps=self._tools.deps,
        )

    async def _begin(self) -> Run:
        self._exists = True
        try:
            return await self._world.run(
                f"The guarded calls of {self.key}.",
                self._tools.agent,
                approver=self._approver,
                observer=self._calls,
                run_id=self.key,
                deps=self._tools.deps,
            )
        except BaseException:
            self._exists = None  # it may have failed before the run existed: the next call looks
            raise

    def _result(self, call: GuardedCall) -> JsonValue:
        if call.status == "ok":
            content = call.content if call.whole is None else self._blobs.get(call.whole).decode()
            return self._tools.value(call.tool, content)
        if call.status == "ambiguous" and call.happened:
            return call.note
        raise error_of(call, self.key)


async def _first(running: asyncio.Task[Run], event: asyncio.Event) -> None:
    """Wait until the run is idle or the event is set."""
    changed = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((running, changed), return_when=asyncio.FIRST_COMPLETED)
    finally:
        changed.cancel()


def guarded(
    runs: RecordedRuns,
    blobs: BlobStore,
    tools: Guardables,
    key: str,
    options: GuardOptions,
    place: PlaceOf,
) -> Guarded:
    """Return the guarded tools of a world.

    Raises AuthorError for an unknown option, and for a key that cannot be the id of a run.
    """
    known = ("tools", "key", *GuardOptions.__annotations__)
    refuse_unknown("World.guard", options, known, place)
    return Guarded(runs, blobs, tools, new_run_id(key), **options)
