"""The runs of agents that a run's model called as tools, as a tree."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from artificer.contracts.definition import AGENT_ORIGINS
from artificer.core.call_keys import idempotency_key
from artificer.core.events import PromptReceived, RunForked
from artificer.core.intents import CallTool
from artificer.core.record import EventLine, Line
from artificer.core.state import RunState
from artificer.errors import ArtificerError
from artificer.ports import BlobStore, Journal
from artificer.runtime.listing.runs import exists
from artificer.runtime.load import load
from artificer.values.model import Usage


class ChildNode(Struct, frozen=True):
    """The run of an agent that another run's model called.

    ``tool`` is the name it was called by, ``depth`` 1 for a child and 2 for a child's child.
    ``status`` is ``pruned`` or ``unreadable`` where the records do not say how the run stands.
    ``usage`` and ``cost_micros`` include those of its own children.
    """

    run: str
    parent: str
    tool: str
    depth: int
    status: str
    model: str = ""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_micros: int | None = None

    @property
    def name(self) -> str:
        """The name of the run in a list."""
        return self.tool


def child_id(run: str, tool: str, key: str) -> str:
    """Return the id of the run that a call starts: the same after a crash, and of no other call."""
    return f"{run}.{tool.replace('.', '-')}-{key[:12]}"


def called(run: str, lines: Iterable[Line]) -> dict[str, str]:
    """Return the runs that a run's calls of agents start, in order, each with its tool.

    A crash may have come before one began. What a fork took over from another run started none.
    """
    return {child: intent.tool for child, intent in agent_calls(run, lines).items()}


def agent_calls(run: str, lines: Iterable[Line]) -> dict[str, CallTool]:
    """Return the calls of agents with the runs that they start, as `called` does."""
    agents: frozenset[str] = frozenset()
    found: dict[str, CallTool] = {}
    for line in lines:
        if isinstance(line, EventLine):
            if isinstance(line.event, PromptReceived):
                tools = line.event.spec.tools().tools
                agents = frozenset(tool.name for tool in tools if tool.origin in AGENT_ORIGINS)
            elif isinstance(line.event, RunForked):
                found.clear()
        elif isinstance(line.intent, CallTool) and line.intent.tool in agents:
            key = idempotency_key(run, line.intent)
            found[child_id(run, line.intent.tool, key)] = line.intent
    return found


async def children_of(
    journal: Journal, blobs: BlobStore, run: str, lines: Iterable[Line]
) -> list[ChildNode]:
    """Return the child runs of a run that have started, each followed by its own children."""
    found: list[ChildNode] = []
    waiting = [(child, tool, run, 1) for child, tool in called(run, lines).items()]
    while waiting:
        child, tool, parent, depth = waiting.pop(0)
        if not await exists(journal, child):
            continue
        try:
            loaded = await load(journal, blobs, child)
        except ArtificerError as error:
            status = "pruned" if error.code == "not_found" else "unreadable"
            found.append(ChildNode(child, parent, tool, depth, status))
            continue
        if loaded.state.run_spec.parent != parent:  # a run that someone gave this id
            continue
        found.append(_node(child, parent, tool, depth, loaded.state))
        below = called(child, loaded.lines)
        waiting[:0] = [(run, tool, child, depth + 1) for run, tool in below.items()]
    return found


def _node(run: str, parent: str, tool: str, depth: int, state: RunState) -> ChildNode:
    return ChildNode(
        run,
        parent,
        tool,
        depth,
        state.standing,
        state.run_spec.full_name,
        state.turn,
        state.usage,
        state.cost_micros,
    )
