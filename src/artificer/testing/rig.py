"""A rig for tests of whole runs: all is real except the model, the tools and the clock.

>>> rig = Rig()
>>> rig.tools.add("echo", echo)
>>> state = await rig.run([reply(call("echo", text="hi")), say("Done.")])
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from artificer.artifacts.deliverable import Deliverable
from artificer.backends.artifact import offered
from artificer.backends.artifact.executor import ArtifactExecutor
from artificer.contracts.definition import ToolDefinition, toolset
from artificer.core.events import Event
from artificer.core.facts import Judges
from artificer.core.record import events_of
from artificer.core.rules import RULES
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.errors import InvariantError
from artificer.ownership.local import LocalOwner
from artificer.ports import (
    Approver,
    BlobStore,
    Builder,
    Call,
    Executor,
    Journal,
    Probed,
    Provider,
    Receipt,
    Signalled,
    Signals,
)
from artificer.providers.scripted import ScriptedProvider, ScriptedReply
from artificer.runtime.engine import Engine
from artificer.runtime.load import load
from artificer.runtime.notifier import SignalNotifier
from artificer.runtime.perform import Performer
from artificer.runtime.proving.replay import Replay, replay
from artificer.runtime.watching.observe import Observer
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal, MemorySignals
from artificer.values.base import JsonObject
from artificer.values.blocks import Message

ToolFunction = Callable[[Call], Awaitable[Receipt | str]]
"""A test's tool: a coroutine function that performs a call."""

Prober = Callable[[Call], Awaitable[Probed]]

ANYTHING: JsonObject = {"type": "object"}
"""A schema that takes any arguments."""


class SteppingClock:
    """A clock that advances by ``step`` milliseconds at each reading."""

    def __init__(self, start: int = 1_700_000_000_000, step: int = 1) -> None:
        self.time = start
        self.step = step

    def now(self) -> int:
        """Return the next time."""
        self.time += self.step
        return self.time

    def new_run_id(self) -> str:
        """Return an id made from the time."""
        return f"run-{self.now()}"


class HandMade:
    """An executor of plain coroutine functions that keeps a list of its calls."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[ToolDefinition, ToolFunction]] = {}
        self._probers: dict[str, Prober] = {}
        self.calls: list[Call] = []

    def add(
        self,
        name: str,
        work: ToolFunction,
        *,
        schema: JsonObject | None = None,
        prober: Prober | None = None,
        **facts: Any,
    ) -> ToolDefinition:
        """Offer a tool. ``facts`` are further fields of its definition, such as ``effect``."""
        if prober is not None:
            self._probers[name] = prober
            facts["probe"] = True
        facts = {"effect": "pure", "description": f"The tool {name}.", **facts}
        tool = ToolDefinition(name=name, input_schema=schema or ANYTHING, **facts)
        self._tools[name] = (tool, work)
        return tool

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the order in which they were added."""
        return tuple(tool for tool, _ in self._tools.values())

    async def execute(self, call: Call) -> Receipt:
        """Perform a call; a returned text becomes a receipt with status ``ok``."""
        self.calls.append(call)
        result = await self._tools[call.definition.name][1](call)
        return Receipt(status="ok", content=result) if isinstance(result, str) else result

    async def probe(self, call: Call) -> Probed:
        """Ask the tool's prober (ports.Probing)."""
        return await self._probers[call.definition.name](call)


@dataclass
class Rig:
    """Stores, tools and a clock from which runs, resumptions and replays are made.

    With ``binding``, artifacts may take ``data`` from the results of the hand-made tools.
    """

    journal: Journal = field(default_factory=MemoryJournal)
    blobs: BlobStore = field(default_factory=MemoryStore)
    tools: HandMade = field(default_factory=HandMade)
    clock: SteppingClock = field(default_factory=SteppingClock)
    approver: Approver | None = None
    observer: Observer = field(default_factory=Observer)
    owner: LocalOwner = field(default_factory=LocalOwner)
    judges: Judges = field(default_factory=Judges)
    binding: bool = False
    signals: Signals = field(init=False)

    def __post_init__(self) -> None:
        """Take the signals from the journal, if it keeps any."""
        journal: object = self.journal
        self.signals = journal.signals if isinstance(journal, Signalled) else MemorySignals()

    def executors(self) -> list[Executor]:
        """The hand-made tools and the ``create_*`` tools."""
        return [
            self.tools,
            ArtifactExecutor(self.blobs, offered.report_tools(binding=self.binding)),
        ]

    def engine(self, provider: Provider, *, builder: Builder | None = None) -> Engine:
        """An engine over the rig's parts."""
        by_name = {tool.name: e for e in self.executors() for tool in e.tools}
        performer = Performer(
            provider, by_name, self.approver, self.blobs, self.clock, builder=builder
        )
        return Engine(
            self.journal,
            performer,
            SignalNotifier(self.signals),
            self.observer,
            self.judges,
            owner=self.owner,
        )

    def spec(self, **facts: Any) -> RunSpec:
        """A spec that offers the hand-made tools, and for ``deliver`` the ``create_*`` ones."""
        facts = {"kind": "chat", "prompt": "Go.", "model": "m", "provider": "scripted", **facts}
        executors = self.executors() if facts["kind"] == "deliver" else [self.tools]
        tools = toolset(tuple(tool for e in executors for tool in e.tools))
        return RunSpec(toolset=tools.to_text(), **{"rules": RULES, **facts})

    async def run(
        self, script: list[ScriptedReply] | Provider, *, run: str = "run", **facts: Any
    ) -> RunState:
        """Start a run and execute it until it is idle. ``facts`` are fields of its spec."""
        return await self.engine(as_provider(script)).start(run, self.spec(**facts))

    async def resume(
        self, script: list[ScriptedReply] | Provider, *, run: str = "run", take_over: bool = False
    ) -> RunState:
        """Resume a run until it is idle."""
        return await self.engine(as_provider(script)).resume(run, take_over=take_over)

    async def replay(self, *, run: str = "run") -> Replay:
        """Replay a run, requests included."""
        return await replay(self.journal, self.blobs, run, ScriptedProvider([]))

    async def events(self, *, run: str = "run") -> list[Event]:
        """The events of a run."""
        loaded = await load(self.journal, self.blobs, run)
        return events_of(loaded.lines)

    def deliverable(self, state: RunState) -> Deliverable:
        """Return a finished run's deliverable. Raises InvariantError if it is not finished."""
        if state.deliverable is None:
            raise InvariantError("The run has delivered nothing.")
        return Deliverable.read(self.blobs.get(state.deliverable))


def as_provider(script: list[ScriptedReply] | Provider) -> Provider:
    """A provider as it is, or one that gives these answers in order."""
    return ScriptedProvider(script) if isinstance(script, list) else script


def messages_of(body: JsonObject) -> tuple[Message, ...]:
    """The conversation in a request that :class:`ScriptedProvider` was sent."""
    items: Any = body["messages"]
    return tuple(Message.read(json.dumps(item)) for item in items)


def unpaired(messages: Sequence[Message]) -> list[str]:
    """Return the breaches of invariant 1 in a conversation; empty when it holds.

    Every call is answered once, in the next message, in the order of the calls; no id is used
    twice; nothing else is answered.
    """
    faults: list[str] = []
    seen: set[str] = set()
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        answers = [b.tool_use_id for b in message.blocks if b.type == "tool_result"]
        if answers != open_calls:
            faults.append(f"message {number} answers {answers}, not {open_calls}")
        open_calls = [call.id for call in message.calls]
        faults += [f"message {number} reuses the id {i}" for i in open_calls if i in seen]
        seen.update(open_calls)
        if open_calls and message.role != "assistant":
            faults.append(f"message {number} calls tools as {message.role}")
    if open_calls:
        faults.append(f"{open_calls} are never answered")
    return faults
