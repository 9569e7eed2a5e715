"""Performing the calls of tools: each within its time, and every failure is a result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeVar

import orjson
from msgspec import Struct, structs

from artificer.contracts.definition import ToolDefinition
from artificer.core import events as ev
from artificer.core.call_keys import idempotency_key
from artificer.core.intents import CallTool, Intent
from artificer.errors import ArtificerError, AuthorError, UnstoredError, places
from artificer.ports import (
    Attachment,
    BlobStore,
    Call,
    CallMonitor,
    Clock,
    Delegating,
    Executor,
    IdleRun,
    Locks,
    Outliving,
    Probed,
    Probing,
    Receipt,
)
from artificer.ports.attachment import attachment_of, block_of
from artificer.runtime.cleaning import cleaned_bytes
from artificer.runtime.effects_log import log, log_effect, ms_since
from artificer.runtime.living_calls import LivingCalls
from artificer.runtime.outcome import Outcome
from artificer.runtime.receipt_data import NO_DATA, data_of, shown
from artificer.system.tasks import cancelling
from artificer.values.blocks import AttachedBlock
from artificer.values.canon import MAX_SAFE_INTEGER, digest_of
from artificer.values.refusal import not_ok
from artificer.values.text import head_and_tail

SHORT = 100_000
"""Characters of the longest text that is looked at in the event loop: taking secrets out of it is
5 ms of work.
"""

MAX_PROBED = 32_000
"""Characters of each text that a probe returns."""

T = TypeVar("T")


def measured(_: CallTool, started: float) -> int:
    """Return the milliseconds that a call has taken since a moment of the monotonic clock."""
    return ms_since(started)


class ToolCalls(Struct, frozen=True):
    """Performs tool calls.

    ``grace_s`` is how much longer than its timeout a call may take to end its work and report.
    ``clean`` removes the secrets of the environment from results: nothing is recorded before.
    ``locks`` are those that the processes of calls hold. ``living`` are the calls that continue
    after their end. ``duration_of`` returns the duration to record of a call that started at a
    moment of the monotonic clock.
    """

    executors: Mapping[str, Executor]
    blobs: BlobStore
    clock: Clock
    grace_s: float
    clean: Callable[[str], str]
    locks: Locks | None
    living: LivingCalls
    duration_of: Callable[[CallTool, float], int] = measured

    async def perform(
        self,
        run: str,
        intent: CallTool,
        result_chars: int,
        monitor: CallMonitor,
        label: str = "",
        *,
        epoch: int,
        waits: bool = False,
    ) -> Outcome:
        """Perform a tool call in an epoch, within its time; every failure is a result.

        With a ``label`` the data of the result are kept, and the result ends with their shape.
        If it ``waits``, the call stays open while the run that it started is idle.
        """
        started = time.monotonic()
        receipt = await self._execute(run, intent, monitor, epoch)
        if receipt.idle is not None and waits:
            return Outcome(_waiting(run, self.clock.now(), intent, receipt.idle, started))
        text = await self._cleaned(receipt.content)
        attachments: tuple[AttachedBlock, ...] = ()
        if receipt.attachments:
            attachments, note = await asyncio.to_thread(
                _keep, receipt.attachments, self.blobs, self.clean
            )
            text += note
        data = NO_DATA
        if label and receipt.status == "ok":
            data = await asyncio.to_thread(data_of, receipt, label, self.clean)
        found = await _off_loop(text, partial(shown, text, data, result_chars))
        whole = None
        if found.whole is not None:
            whole = await asyncio.to_thread(self.blobs.put, found.whole)
        duration = self.duration_of(intent, started)
        _log_end(run, intent, duration, receipt.status, text)
        event = ev.ToolReturned(
            at=self.clock.now(),
            intent=intent.n,
            status=receipt.status,
            content=found.content,
            duration_ms=duration,
            evidence=None if receipt.evidence is None else self.clean(receipt.evidence),
            artifact=receipt.artifact,
            withdrawn=receipt.withdrawn,
            whole=whole,
            attachments=attachments,
            data=None if data.data is None else digest_of(data.data),
            usage=receipt.usage,
            cost_micros=receipt.cost_micros,
            taint=receipt.taint,
            handover=receipt.handover,
        )
        return Outcome(event, blobs=() if data.data is None else (data.data,))

    async def late_result(
        self, intent: CallTool, work: Outliving, result_chars: int
    ) -> ev.ReceiptIgnored:
        """Wait for the late result of a call that was answered before its work had ended."""
        receipt = await work.receipt()
        return ev.ReceiptIgnored(
            at=self.clock.now(),
            intent=intent.n,
            what="ToolReturned",
            reason="The work ended after the call had been answered.",
            status=receipt.status,
            content=head_and_tail(await self._cleaned(receipt.content), result_chars),
        )

    async def _cleaned(self, text: str) -> str:
        return await _off_loop(text, partial(self.clean, text))

    async def _execute(
        self, run: str, intent: CallTool, monitor: CallMonitor, epoch: int
    ) -> Receipt:
        executor = self.executors.get(intent.tool)
        if executor is None:
            return _failed("error", intent, "This tool is not available in this program.")
        call = self._locked(self._call(run, intent, executor, epoch))
        following = _Following(monitor, partial(self.living.add, self.blobs, intent, call))
        call = structs.replace(call, monitor=following)
        definition = call.definition
        if reason := await self.living.out_of_the_way(call):
            return _failed("error", intent, reason)
        limit = asyncio.timeout(definition.timeout_ms / 1000 + self.grace_s)
        try:
            async with limit:
                return _checked(intent.tool, await executor.execute(call))
        except UnstoredError:  # the call has ended, and nobody is to read that it failed
            raise
        except ArtificerError as error:
            return _failed("error", intent, error.message)
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # must not end a run
            if limit.expired():
                within = f"It did not end within {definition.timeout_ms} ms, and was ended."
                return _failed("timeout", intent, within)
            if _is_cancellation(error):
                raise
            log.error("tool %s raised an error\n%s", intent.tool, places(error))
            return _failed("error", intent, "The tool broke; its author can see why in the log.")

    async def interrupt(self, run: str, calls: Sequence[CallTool], epoch: int) -> None:
        """Have the runs that calls in progress have started begin nothing new. Other calls end."""
        for intent in calls:
            executor = self.executors.get(intent.tool)
            if executor is None or not isinstance(executor, Delegating):
                continue
            try:
                await executor.interrupt(self._call(run, intent, executor, epoch))
            except ArtificerError as error:  # it ends with its caller, at the latest
                log.warning("the run of call %s is not interrupted: %s", intent.call_id, error)

    async def probe(self, run: str, intent: CallTool, epoch: int) -> Probed | None:
        """Ask the world, as the owner of this epoch, whether a call had happened.

        None when its tool cannot tell.
        """
        executor = self.executors.get(intent.tool)
        if executor is None or not isinstance(executor, Probing):
            return None
        call = self._call(run, intent, executor, epoch)
        if not call.definition.probe:
            return None
        try:
            async with asyncio.timeout(call.definition.timeout_ms / 1000 + self.grace_s):
                probed = (await executor.probe(call)).verified()
            content, reason = [await self._cleaned(t) for t in (probed.content, probed.reason)]
            return probed.replace(
                content=head_and_tail(content, MAX_PROBED), reason=head_and_tail(reason, MAX_PROBED)
            )
        except TimeoutError:
            return Probed(found="unknown", reason="The probe did not end in time.")
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # leaves it in doubt
            if _is_cancellation(error):
                raise
            log.error("the probe of %s raised an error\n%s", intent.tool, places(error))
            return Probed(found="unknown", reason="The probe broke.")

    def _call(self, run: str, intent: CallTool, executor: Executor, epoch: int) -> Call:
        definition = definition_of(executor, intent.tool)
        if intent.within_ms is not None and intent.within_ms < definition.timeout_ms:
            definition = definition.replace(timeout_ms=intent.within_ms)
        return Call(
            run=run,
            id=intent.call_id,
            definition=definition,
            arguments=orjson.loads(intent.arguments),
            key=idempotency_key(run, intent),
            fencing_token=epoch,
        )

    def _locked(self, call: Call) -> Call:
        """The call with the locks of its processes; pure ones may be left behind."""
        if self.locks is None or call.definition.effect == "pure":
            return call
        return structs.replace(call, locks=self.locks.of(call.key))

    async def still_running(self, run: str, calls: Sequence[CallTool]) -> dict[int, str]:
        """Why the processes and threads of these calls may act, by the number of the intent."""
        if not calls:
            return {}
        keys = {idempotency_key(run, intent): intent.n for intent in calls}
        found = {} if self.locks is None else await self.locks.held(keys)
        return {keys[key]: why for key, why in {**found, **self.living.held(keys)}.items()}

    def left_behind(self, run: str) -> list[tuple[CallTool, Outliving]]:
        """Return the calls of a run that outlived an execution of it here, and their work."""
        return self.living.of(self.blobs, run)

    def late_recorded(self, run: str, call: CallTool) -> None:
        """The late result of a call is recorded: nothing else is to be learnt from its work."""
        self.living.forget(self.blobs, run, call)

    def settled(self, run: str, intents: Iterable[Intent]) -> None:
        """Release the locks of calls whose results are recorded."""
        if self.locks is not None:
            calls = [i for i in intents if isinstance(i, CallTool) and i.effect != "pure"]
            self.locks.forget([idempotency_key(run, intent) for intent in calls])


class _Following(CallMonitor):
    """A monitor that has a call noted which outlives its end."""

    def __init__(self, monitor: CallMonitor, note: Callable[[Outliving], None]) -> None:
        self._monitor = monitor
        self._note = note

    def progressed(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Pass it on."""
        self._monitor.progressed(message, done, total)

    def outlived(self, work: Outliving) -> None:
        """Note the call, and pass it on."""
        self._note(work)
        self._monitor.outlived(work)

    def traceparent(self) -> str:
        """Pass it on."""
        return self._monitor.traceparent()


def definition_of(executor: Executor, tool: str) -> ToolDefinition:
    """Return an executor's definition of one of its tools."""
    return next(t for t in executor.tools if t.name == tool)


_UNSTOPPED = (
    "The run was cancelled while this call was under way, and nothing can stop it. It may still "
    "happen, wholly, in part or not at all. Find out before you repeat it."
)


def unstopped(at: int, intent: CallTool) -> ev.ToolReturned:
    """Return the result of a call that was cancelled, and continues because nothing can stop it.

    It is ``ambiguous``, for it may still happen.
    """
    content = not_ok("ambiguous", f"{intent.tool}: {_UNSTOPPED}")
    return ev.ToolReturned(
        at=at, intent=intent.n, status="ambiguous", content=content, duration_ms=0
    )


def _keep(
    attachments: Sequence[Attachment], blobs: BlobStore, clean: Callable[[str], str]
) -> tuple[tuple[AttachedBlock, ...], str]:
    """Store attachments; return what is recorded of them, and a note about unusable ones."""
    kept: list[AttachedBlock] = []
    note = ""
    for attachment in attachments:
        data = cleaned_bytes(attachment.data, clean)
        try:
            found = attachment_of(data, attachment.media_type, name=attachment.name)
        except ArtificerError as error:
            note += f"\n[An attachment was left out: {error.message}]"
            continue
        blobs.put(found.data)
        kept.append(block_of(found))
    return tuple(kept), note


async def _off_loop(text: str, work: Callable[[], T]) -> T:
    """Do work on a text, in a thread if it is long."""
    return work() if len(text) <= SHORT else await asyncio.to_thread(work)


def _log_end(run: str, intent: CallTool, duration: int, status: str, text: str) -> None:
    facts = {"outcome": status, "chars": len(text), "result": text.encode()}
    log_effect("tool", run, intent, duration, tool=intent.tool, **facts)


def _waiting(run: str, at: int, intent: CallTool, idle: IdleRun, started: float) -> ev.CallWaiting:
    duration, standing = ms_since(started), idle.standing
    log_effect("tool", run, intent, duration, tool=intent.tool, outcome=standing)
    return ev.CallWaiting(
        at=at, intent=intent.n, run=idle.run, standing=standing, duration_ms=duration
    )


def _failed(status: Literal["error", "timeout"], intent: CallTool, detail: str) -> Receipt:
    return Receipt(status=status, content=not_ok(status, f"{intent.tool}: {detail}"))


def _checked(tool: str, receipt: object) -> Receipt:
    """Return what an executor returned, if it can be recorded and read again."""
    problem = f"Its executor returned a {type(receipt).__name__}, not a Receipt."
    if isinstance(receipt, Receipt):
        counts = {} if receipt.usage is None else structs.asdict(receipt.usage)
        wrong = [
            name
            for name, count in {**counts, "cost_micros": receipt.cost_micros or 0}.items()
            if isinstance(count, int) and not 0 <= count <= MAX_SAFE_INTEGER
        ]
        if not wrong:
            return receipt.verified()
        problem = f"Its executor returned a Receipt whose {wrong[0]} is not from 0 to 2**53 - 1."
    log.error("tool %s: %s", tool, problem)
    raise AuthorError(problem)


def _is_cancellation(error: BaseException) -> bool:
    """Whether it is this task that is being cancelled, not something inside the tool."""
    return isinstance(error, asyncio.CancelledError) and cancelling()
