"""The port to tools: an approved call, and the receipt of performing it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from artificer.artifacts.handover import Handover
from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.withdraw import Withdrawal
from artificer.contracts.definition import ToolDefinition
from artificer.core.taint import Taint
from artificer.core.waits import IdleStanding
from artificer.ports.attachment import Attachment
from artificer.values.base import JsonObject, Problem, Text, Value
from artificer.values.blocks import CallStatus
from artificer.values.model import Usage
from artificer.values.value_type import NamedType, NamedValueType


class CallLocks(Struct, frozen=True):
    """The locks that the processes of a call hold as long as they live (`ownership.fifo.holding`).

    ``own`` is for processes of this call only, ``shared`` for servers that outlive it. ``owner``
    is the id of the run's owner, for processes that cannot hold a lock; ``forked`` is for those
    that are forked from the runtime, which cannot name it.
    """

    own: Path
    shared: Path
    owner: str
    forked: Path | None = None


class CallProgress(Value):
    """A progress report of a call: how far it is, of ``total`` if that is known."""

    call_id: str
    tool: str
    message: str
    done: int | None = None
    total: int | None = None


class Outliving(Protocol):
    """Work that continues after its call has ended, because nothing can stop it."""

    @property
    def alive(self) -> bool:
        """Whether it is still running. May be called from any thread."""

    async def receipt(self) -> Receipt:
        """Wait for its end, and return its late result."""


class CallMonitor:
    """Follows a call. The hooks are empty, and all are called from the event loop."""

    def progressed(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Receive a progress report. It is not journaled."""

    def outlived(self, work: Outliving) -> None:
        """Receive work that continues after the call, because nothing can stop it."""

    def traceparent(self) -> str:
        """Return the ``traceparent`` (W3C Trace Context) of the call's span, which starts now.

        Empty if no spans are exported. Send it only to targets that the operator has allowed.
        """
        return ""


NO_MONITOR = CallMonitor()


class Call(Struct, metaclass=NamedType, frozen=True):
    """An approved tool call, about to be performed.

    ``arguments`` have passed the tool's schema. ``key`` is the idempotency key: the same after a
    crash, different for every other call. ``fencing_token`` is the run's epoch: higher for every
    later owner of the run, 0 outside runs. An executor that starts processes has them hold the
    ``locks``, so that a later owner knows whether they are still alive. ``monitor`` receives news
    about the call before and after its end.
    """

    run: str
    id: str
    definition: ToolDefinition
    arguments: JsonObject
    key: str
    locks: CallLocks | None = None
    monitor: CallMonitor = NO_MONITOR
    fencing_token: int = 0


class IdleRun(Value):
    """A run that a call started and that is idle before its end, with its status."""

    run: str
    standing: IdleStanding


class Receipt(Value, metaclass=NamedValueType):
    """The result of performing a tool call.

    ``content`` is what the model reads. ``evidence`` is the envelope that records what a command
    did, as canonical JSON text. ``artifact`` is set by the ``create_*`` tools, ``withdrawn`` by
    ``withdraw_artifact``. ``attachments`` are images, sounds and files that the model is shown.
    ``usage`` and ``cost_micros`` are those of a run that the call started. ``data`` is the whole
    result as JSON text, for artifacts that are bound to it: its numbers as the source wrote them.
    ``taint`` is the untrusted tool whose result the started run holds. With a ``handover`` that
    run's answer is the answer of the caller's run. With ``idle`` the call has not ended: the run
    that it started is idle before its end. The call is performed again when that run can continue.
    """

    status: CallStatus
    content: Text
    evidence: Text | None = None
    artifact: ArtifactRef | None = None
    withdrawn: Withdrawal | None = None
    attachments: tuple[Attachment, ...] = ()
    usage: Usage | None = None
    cost_micros: int | None = None
    data: Text | None = None
    taint: Taint | None = None
    handover: Handover | None = None
    idle: IdleRun | None = None


class Executor(Protocol):
    """Performs the calls of the tools it offers."""

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that this executor performs."""

    async def execute(self, call: Call) -> Receipt:
        """Perform a call within ``call.definition.timeout_ms``.

        A failing tool is a receipt with status ``error``, not an exception. On timeout or
        cancellation, all work must have ended before this returns: no thread and no process
        continues. Work that nothing can stop is passed to ``call.monitor.outlived``; its
        receipt is ``ambiguous``, or ``timeout`` if the tool is pure.
        """


class Probed(Value):
    """The state of a call in the outside world: whether it happened, and its result if so.

    ``content`` is then its result; ``reason`` says how this is known, or why it is not.
    """

    found: Literal["happened", "absent", "unknown"]
    content: Text = ""
    reason: Text = ""


@runtime_checkable
class Probing(Protocol):
    """An executor that can find out whether a call happened."""

    async def probe(self, call: Call) -> Probed:
        """Find out, without changing anything, within ``call.definition.timeout_ms``."""


@runtime_checkable
class Delegating(Protocol):
    """An executor whose calls are separate runs, which may be idle before their end."""

    async def signalled(self, run: str) -> bool:
        """Whether an idle run, or one that it waits for, has unread signals."""

    async def interrupt(self, call: Call) -> None:
        """Have the run of a call that is in progress begin nothing new, and end."""


class Preview(Struct, frozen=True):
    """The effect that a call would have, or the problems that prevent it.

    ``effect`` has a member for each part of it. A command's is ``command``, its arguments.
    """

    effect: JsonObject
    problems: tuple[Problem, ...] = ()


@runtime_checkable
class Previewing(Protocol):
    """An executor that can show the effect of a call without performing it."""

    def preview(self, call: Call) -> Preview:
        """Return the effect of a call. Secrets are shown by their names."""


@runtime_checkable
class Lasting(Protocol):
    """An executor whose calls share a program that runs as long as a process executes the run."""

    def recall(self, run: str, calls: Mapping[str, int]) -> None:
        """Pass the numbers of the run's calls, by tool, in another process, before it is resumed
        in this one.

        What they shared is gone, and the next call of one of these tools has to say so. Limits on
        the number of calls continue from there.
        """

    async def release(self, run: str) -> None:
        """End what the run's calls share: this process no longer executes the run."""
