"""One call of an MCP client: a run in which the client takes the model's place."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from artificer.agent import Agent
from artificer.artifacts import catalog
from artificer.artifacts.placeholder import placeholder
from artificer.artifacts.tool_names import kind_of
from artificer.cli.mcp.ask import ClientApprover
from artificer.cli.mcp.log import ClientLog, Records
from artificer.cli.mcp.wire import Served
from artificer.contracts.definition import ToolDefinition
from artificer.providers.scripted import ScriptedProvider, reply, say
from artificer.runs import Run
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolResultBlock, ToolUseBlock
from artificer.values.model import ModelReply
from artificer.values.strict_json import parse_object
from artificer.world import World

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.types import LoggingLevel

PROGRESS_SECONDS = 1.0
"""Seconds between progress messages to a client that requested them."""


class Caller(ScriptedProvider):
    """A client instead of the model: it requests one call, and then ends the run."""

    def __init__(self, tool: ToolDefinition, arguments: str) -> None:
        super().__init__(self._answer)
        self._call = ToolUseBlock(id="", name=tool.name, arguments=arguments)
        self._makes_artifacts = tool.backend == "artifact"
        self.result: ToolResultBlock | None = None

    def _answer(self, body: JsonObject) -> ModelReply:
        messages = body["messages"]
        assert isinstance(messages, list)
        last: Any = messages[-1]
        blocks = [block for block in last["blocks"] if block["type"] == "tool_result"]
        if not blocks:
            return reply(self._call)
        self.result = ToolResultBlock.from_json(blocks[0])
        return say(self._closing(self.result))

    def _closing(self, result: ToolResultBlock) -> str:
        """The end of the run: an artifact that was made is cited, so that its report shows it."""
        arguments = parse_object(self._call.arguments)
        made = self._makes_artifacts and not result.is_error
        if not made or isinstance(arguments, tuple):
            return f"{self._call.name}: {result.status}."
        _, artifact, _ = catalog.identity(self._call.name, arguments)
        return placeholder(kind_of(self._call.name), artifact)


@dataclass
class Underway:
    """A call, from its arrival to its result. ``task`` is the run."""

    served: Served
    arguments: JsonObject
    caller: Caller
    approver: ClientApprover
    log: ClientLog
    run: str
    records: Records = field(default_factory=Records)
    task: asyncio.Task[Run] | None = None

    @classmethod
    def of(
        cls,
        served: Served,
        arguments: JsonObject,
        ctx: ServerRequestContext[Any, Any],
        log: ClientLog,
        run: str,
    ) -> Underway:
        """A call that has just arrived."""
        caller = Caller(served.definition, json.dumps(arguments))
        return cls(served, arguments, caller, ClientApprover(ctx), log, run)

    def begin(self, world: World) -> None:
        """Begin the run."""
        self.task = asyncio.create_task(self._perform(world))

    def is_same(self, name: str, arguments: JsonObject) -> bool:
        """Return whether a call is a repetition of this one."""
        return name == self.served.definition.name and arguments == self.arguments

    async def watch(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        """Wait for the run, and send progress to a client that requested it.

        Return False if its user must be asked before the run can continue.
        """
        assert self.task is not None
        name, seconds = self.served.definition.name, self.served.definition.timeout_ms / 1000
        await self.log.send(ctx, "info", self.run, f"{name}: called")
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not self.task.done():
            elapsed = min(loop.time() - began, seconds)
            await ctx.session.report_progress(round(elapsed, 1), seconds, "running")
            needed = asyncio.ensure_future(self.approver.needs_input.wait())
            await asyncio.wait(
                (self.task, needed), timeout=PROGRESS_SECONDS, return_when="FIRST_COMPLETED"
            )
            needed.cancel()
            for record in self.records.take():
                await self.log.send(ctx, "debug", self.run, record)
            if self.approver.needs_input.is_set():
                return False
        result = self.caller.result
        status = result.status if result else "no result"
        level: LoggingLevel = "warning" if result is None or result.is_error else "info"
        await self.log.send(ctx, level, self.run, f"{name}: {status}")
        return True

    async def end(self) -> None:
        """End the run if it is in progress, and wait for it, even after a cancellation."""
        import anyio

        if self.task is None or self.task.done():
            return
        self.task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait((self.task,))

    async def _perform(self, world: World) -> Run:
        try:
            return await world.run(
                f"A client's call of {self.served.definition.name}.",
                Agent(
                    model=self.caller,
                    kind=self.served.kind,
                    tools=() if self.served.kind == "deliver" else (self.served.executor,),
                    only=(self.served.definition.name,),
                    instructions="",
                ),
                approver=self.approver,
                observer=self.records,
                run_id=self.run,
            )
        except asyncio.CancelledError:
            # The client has cancelled: whatever the call started has ended by now.
            await world.cancel(self.run, "The client cancelled the call.")
            raise
