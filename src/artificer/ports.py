"""The seams: what the runtime asks of the world. Each is a Protocol of at most four methods.

Every port has at least two implementations, and one conformance suite in ``artificer.testing``
that all of them pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.withdraw import Withdrawal
from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.core.events import BuildAdvanced
from artificer.core.record import EventLine, IntentLine
from artificer.core.state import RunState
from artificer.loops.wishes import Wish
from artificer.values.base import Digest, JsonObject, Text, Value
from artificer.values.blocks import CallStatus, Message
from artificer.values.model import Delta, ModelFailure, ModelReply

# --- models -----------------------------------------------------------------------------------


@dataclass
class Memo:
    """A run's memory of how its messages look on the wire, so that each is mapped once.

    Mapping the whole conversation anew at every turn would cost a quadratic sum.
    """

    _request: ModelRequest | None = None
    _rest: JsonObject = field(default_factory=dict)
    _key: object = None
    _known: int = 0
    _last: Message | None = None
    _items: list[JsonObject] = field(default_factory=list)

    def rest(
        self, request: ModelRequest, build: Callable[[ModelRequest], JsonObject]
    ) -> JsonObject:
        """Map all but the conversation, calling ``build`` only when the request has changed."""
        if request != self._request:
            self._request, self._rest = request, build(request)
        return self._rest

    def items(
        self,
        key: object,
        messages: Sequence[Message],
        to_wire: Callable[[Message], list[JsonObject]],
    ) -> list[JsonObject]:
        """Map messages to wire items, calling ``to_wire`` only for those not seen before.

        ``key`` is whatever else the mapping depends on; when it changes, all is mapped anew. The
        same growing list is returned every time, for a conversation only ever grows; when it is
        cut, a memo of its own begins.
        """
        known = self._known
        grown = known and len(messages) >= known and messages[known - 1] is self._last
        if key != self._key or not grown:
            self._key, self._items, known = key, [], 0
        for message in messages[known:]:
            self._items.extend(to_wire(message))
        self._known, self._last = len(messages), messages[-1] if messages else None
        return self._items


@dataclass(frozen=True)
class Payload:
    """The body of one request as it is handed to the SDK, its growing list apart.

    ``tools`` are the definitions behind the wire's tools. They are not sent: reading the reply
    needs them, to turn names and arguments back.
    """

    rest: JsonObject
    key: str
    items: list[JsonObject]
    tools: tuple[ToolDefinition, ...] = ()

    @property
    def body(self) -> JsonObject:
        """The whole body."""
        return {**self.rest, self.key: list(self.items)}


class Provider(Protocol):
    """What talks to a model's API."""

    @property
    def name(self) -> str:
        """The word before the slash in ``anthropic/claude-…``."""

    def prepare(self, request: ModelRequest, messages: Sequence[Message], memo: Memo) -> Payload:
        """Map a request to the provider's form. Pure: it does no I/O and imports no SDK.

        ``messages`` is always paired: every tool call is followed by its one result.
        """

    async def generate(
        self, payload: Payload, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Ask the model. Retries are bounded; every failure is a value, never an exception.

        Cancelling the task closes the connection.
        """

    async def aclose(self) -> None:
        """Release connections and child processes. May be called more than once."""


@runtime_checkable
class Requiring(Protocol):
    """A provider that needs something here: an SDK, a model's file."""

    def require(self) -> None:
        """Raise MissingExtraError or NotFoundError when that is not here, before a run begins."""


# --- tools ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CallLocks:
    """The locks that the processes of a call hold as long as they live (`ownership.fifo.holding`).

    ``own`` is for those that are the call's alone, ``shared`` for servers that outlive it.
    """

    own: Path
    shared: Path


@dataclass(frozen=True)
class Call:
    """An approved tool call, about to be performed.

    ``arguments`` have passed the tool's schema. ``key`` is the idempotency key: the same after a
    crash, different for every other call. An executor that starts processes has them hold the
    ``locks``, so that a later owner knows whether they still live.
    """

    run: str
    id: str
    definition: ToolDefinition
    arguments: JsonObject
    key: str
    locks: CallLocks | None = None


class Receipt(Value):
    """What performing a tool call brought back.

    ``content`` is what the model reads. ``evidence`` is the envelope that says what a command did,
    as canonical JSON text. ``artifact`` is set by the ``create_*`` tools, ``withdrawn`` by
    ``withdraw_artifact``.
    """

    status: CallStatus
    content: Text
    evidence: Text | None = None
    artifact: ArtifactRef | None = None
    withdrawn: Withdrawal | None = None


class Executor(Protocol):
    """Performs the calls of the tools it offers."""

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that this executor performs."""

    async def execute(self, call: Call) -> Receipt:
        """Perform a call within ``call.definition.timeout_ms``.

        A failing tool is a receipt with status ``error``, not an exception. When the time is up
        or the task is cancelled, the work has really ended before this returns: no thread and no
        process goes on.
        """


class Probed(Value):
    """What the world says of a call: whether it had happened, and if so what it brought.

    ``content`` is then its result, ``reason`` what made it be known or not.
    """

    found: Literal["happened", "absent", "unknown"]
    content: Text = ""
    reason: Text = ""


@runtime_checkable
class Probing(Protocol):
    """An executor that can ask the world whether a call happened."""

    async def probe(self, call: Call) -> Probed:
        """Find out, without changing anything, within ``call.definition.timeout_ms``."""


@runtime_checkable
class Lasting(Protocol):
    """An executor whose calls share something that lives as long as a run is driven: a program."""

    def recall(self, run: str, calls: Mapping[str, int]) -> None:
        """Say how often the run has called which tools in another process, before it is taken up
        in this one.

        What they shared is gone, and the next call of one of them has to say so. Limits of number
        go on where they were.
        """

    async def release(self, run: str) -> None:
        """End what the run's calls share: the run is no longer driven here."""


class Locks(Protocol):
    """Knows whether the processes of calls still live."""

    def of(self, key: str) -> CallLocks:
        """The locks that the processes of a call hold, by its idempotency key."""

    async def held(self, keys: Iterable[str]) -> dict[str, str]:
        """Wait a bounded time for the processes of these calls to end.

        Returns why those are in doubt whose processes have not, naming these.
        """

    def forget(self, keys: Iterable[str]) -> None:
        """Remove the locks of calls whose results are recorded."""


class Builder(Protocol):
    """Serves what the scheduler of a build wishes for, and looks after the runs it started."""

    async def serve(self, run: str, state: RunState, wish: Wish) -> BuildAdvanced | None:
        """Serve a wish, and return the fact that answers it.

        None when there is none to tell now: the wish asks for no answer, or what it started rests
        and will be taken up again. Serving a wish again comes to the same.
        """

    async def relay(self, run: str, state: RunState, letter: bytes) -> None:
        """Leave a letter for every run of the build that is under way. It may come twice."""

    async def stirred(self, state: RunState) -> Collection[Digest]:
        """The keys of wishes whose runs rest, and have got letters since."""

    async def tidy(self, run: str, state: RunState) -> None:
        """End every run of the build that nobody waits for, and remove what it left."""


# --- storage ----------------------------------------------------------------------------------

Durability = Literal["process", "power"]
"""What a commit survives: the death of the process, or also the loss of power (fsync)."""


class Head(Value):
    """Where a run's chain of records ends. A run without records is at ``Head()``."""

    seq: int = 0
    hash: str = ""


class Lease(Value):
    """The right to append to a run, until somebody else acquires it."""

    epoch: int
    head: Head


@dataclass(frozen=True)
class Claim:
    """The owner that acquires a run, and its conditions: compare and set, in one step.

    ``owner`` is written down with the run until it is released. ``head`` is where the run must end
    (None: anywhere). ``admit`` is called with the run's former owner, within that step: what it
    raises leaves all as it was. The former owner is ``""`` when the run was released or is new, and
    None when nobody knows, as for a run that an older release acquired.

    ``admit`` returns the owners that may still act, if any, with spaces between them. They are
    written down as well, and shown to the next claim after its former owner, until the run's next
    record: whoever takes a run from them may die before that says what became of their calls.
    """

    owner: str = ""
    head: Head | None = None
    admit: Callable[[str | None], str | None] = lambda _: None


UNCLAIMED = Claim()
"""Acquires a run without conditions, and names no owner."""


@dataclass(frozen=True)
class Record:
    """One line of the journal: ``body`` is canonical JSON and ``hash`` its digest.

    The body names its run, its seq (from 1, without gaps) and the hash of the record before it.
    """

    run: str
    seq: int
    hash: str
    body: bytes


@dataclass(frozen=True)
class RunHead:
    """A run that the journal knows."""

    run: str
    epoch: int
    head: Head


class Leases(Protocol):
    """Who may write to which run."""

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        """Become the run's one writer: a new epoch, higher than any before.

        Raises:
            Fenced: the run does not end at the claim's head; nothing has changed.
        """

    async def release(self, run: str, epoch: int) -> None:
        """Give the run up. Nothing changes when somebody else has acquired it since."""


class Journal(Leases, Protocol):
    """The append-only log of a world."""

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
    ) -> Head:
        """Append all records or none, durably, with the blobs they cite; return the new head.

        Raises:
            Fenced: somebody else acquired the run, or its head is not ``head``.
        """

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        """Return the run's records with ``seq > after``, in order; empty for an unknown run.

        ``limit`` is the most that are returned, from the first on.
        """

    async def runs(self) -> list[RunHead]:
        """Return every run, oldest first."""


@runtime_checkable
class Anchored(Protocol):
    """A journal that something outside of it proves to have come as far as it had."""

    async def anchor(self) -> None:
        """Make the proof of all that was appended durable: before an effect that depends on it.

        Raises:
            OperatorError: it cannot be written. The effect must not start.
        """


MAX_LETTERS = 10_000
"""Most letters that a run can get."""


class Mailbox(Protocol):
    """Letters for whoever drives a run. They stay: a run remembers which ones it has taken."""

    async def post(self, run: str, body: bytes) -> int:
        """Leave a letter, durably, and return its number, counted from 1 in its run.

        Raises:
            OperatorError: the run has had MAX_LETTERS.
        """

    async def letters(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """The run's letters with a number greater than ``after``, in order."""

    async def news(self, position: int | None) -> tuple[int, frozenset[str]]:
        """The position now, and the runs that got letters since an earlier one.

        With None, only the position.
        """


@dataclass(frozen=True)
class Amount:
    """What something costs: tokens, and micro-dollars where the price is known."""

    tokens: int = 0
    micros: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.micros + other.micros)


@dataclass(frozen=True)
class Allowed:
    """The most that a day may cost; None is no limit."""

    tokens: int | None = None
    micros: int | None = None

    def holds(self, amount: Amount) -> bool:
        """Whether an amount is within it."""
        pairs = ((self.tokens, amount.tokens), (self.micros, amount.micros))
        return all(most is None or needed <= most for most, needed in pairs)


@dataclass(frozen=True)
class Spent:
    """What a day has cost, and what requests under way may still cost."""

    settled: Amount
    reserved: Amount


@dataclass(frozen=True)
class Correction:
    """A day's cost as a person states it. None leaves tokens, or micro-dollars, as they are."""

    tokens: int | None
    micros: int | None
    by: str
    reason: str
    at: int

    def of(self, spent: Amount) -> Amount:
        """The total after it."""
        return Amount(
            spent.tokens if self.tokens is None else self.tokens,
            spent.micros if self.micros is None else self.micros,
        )


class Purse(Protocol):
    """What a world spends, day by day. Processes spend from it at the same time."""

    async def reserve(
        self, day: str, need: Amount, most: Allowed, *, now: int, until: int
    ) -> int | None:
        """Reserve an amount, durably, and return the number of the reservation.

        None, and nothing has changed, when the day would cost more than ``most``: compare and
        add, in one step. Nobody who dies keeps it for longer than ``until``.
        """

    async def settle(self, day: str, number: int, true: Amount) -> None:
        """Put what a request has really cost in the place of its reservation, expired or not."""

    async def spent(self, day: str, now: int) -> Spent:
        """What a day has cost, and what is reserved of it."""

    async def correct(self, day: str, correction: Correction) -> Amount:
        """Put what a day has cost right, and return its total after it."""


class BlobStore(Protocol):
    """Bytes by their digest."""

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their digest. Storing twice is storing once."""

    def get(self, digest: str) -> bytes:
        """Return the bytes.

        Raises:
            NotFoundError: no such blob.
            TamperedError: the stored bytes do not have this digest.
        """

    def has(self, digest: str) -> bool:
        """Whether the blob is there (its bytes are not verified)."""

    def digests(self) -> Iterable[str]:
        """Every stored digest, in no particular order."""


@runtime_checkable
class Joined(Protocol):
    """A blob store that also reads the blobs that a journal stored together with its records."""

    def joins(self, data: bytes) -> bool:
        """Whether a blob is one to be appended with the record that cites it."""


class Versions(Protocol):
    """Which blob each version of each workspace is: only ever added to, the newest is the head.

    ``run`` is empty for the workspace itself, and names a run for that run's draft of it.
    """

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """The newest version's number and digest, or None where there is none."""

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """A version's digest, or None for one that is not there."""

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the version after the head, durably: compare and swap.

        False, and nothing has changed, unless ``number`` is one more than the head's.
        """

    def names(self, run: str = "") -> list[str]:
        """Every workspace's name, or of those a run has a draft of, in order."""


@dataclass(frozen=True)
class RunView:
    """A run as it was at a height of its journal: the number of its last record, and its hash."""

    height: int
    hash: str
    state: RunState
    lines: tuple[EventLine | IntentLine, ...]
    release: str


class RunReader(Protocol):
    """Shows a run as its journal tells it."""

    async def view(self, run: str, height: int | None = None) -> RunView:
        """The run at a height, or as high as it is when it is lower, or without one.

        Raises:
            NotFoundError: no such run.
            TamperedError: its journal is not what was written.
        """


class Snapshots(Protocol):
    """States of runs as they were: derived from the journal, and proven by it before use.

    A run's conversation is kept in chunks, so that keeping it costs what is new.
    """

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Keep a state in the place of the last one, and the messages from ``first`` on.

        With 0, all earlier messages are forgotten.
        """

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """The run's last state, and its chunks of messages in order."""

    def drop(self, run: str) -> None:
        """Forget a run."""


# --- people and time --------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A call that policy wants a person to allow; ``digest`` binds the answer to this very call."""

    run: str
    tool: str
    arguments: str
    reason: str
    digest: str


@dataclass(frozen=True)
class Answer:
    """A person's answer: ``by`` says who, ``reason`` why."""

    approved: bool
    by: str
    reason: str = ""


class Approver(Protocol):
    """Asks a person."""

    async def ask(self, question: Question) -> Answer:
        """Wait for the answer."""


class Clock(Protocol):
    """Time and identity, the only sources of what a replay could not compute."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""

    def new_run_id(self) -> str:
        """A fresh run id: sortable by time, ``[a-z0-9-]``."""
