"""A run whose two children wait for approvals: python waiting_family.py HOME LEDGER KILL

The first process begins it; each later one approves the questions, or continues it. With a positive
KILL the process kills itself with SIGKILL after as many appends to any journal. Each payment adds a
line to LEDGER.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from artificer import Agent, Policy, Rule, ScriptedProvider, World, tool
from artificer.config import Config
from artificer.ownership.calls import ProjectLocks
from artificer.ownership.process import owner_of
from artificer.ports import Journal, Record
from artificer.providers.scripted import call, reply, say
from artificer.runtime.listing import exists
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import OpenStorage
from artificer.wiring.storage_kinds import opened

sys.path.insert(0, str(Path(__file__).parents[1]))

from wrapped_journal import WrappedJournal

NAMES = ("Ada", "Ben")


class Killing(WrappedJournal):
    """A journal whose process dies after an append."""

    kill = 0

    async def after(self, run: str, records: Sequence[Record]) -> None:
        if self.appends == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)


class KillingStorage(OpenStorage):
    """A storage with such a journal."""

    killing: Killing

    @property
    def journal(self) -> Journal:
        return self.killing


def scripted(first: ModelReply, last: str) -> ScriptedProvider:
    """A model that answers by how far the conversation is, in whichever process."""

    def answer(body: JsonObject) -> ModelReply:
        return first if len(body["messages"]) < 3 else say(last)  # type: ignore[arg-type]

    return ScriptedProvider(answer)


def family(ledger: Path) -> Agent:
    @tool(effect="idempotent", resources=[])
    async def pay(to: str) -> str:
        """Pay."""
        with ledger.open("a", encoding="utf-8") as lines:
            lines.write(f"{to}\n")
        return f"paid {to}"

    policy = Policy(rules=(Rule(decision="ask", tool="pay"),))
    tools = []
    for name in NAMES:
        model = scripted(reply(call("pay", to=name)), f"{name} has it.")
        child = Agent(model, kind="chat", tools=[pay], policy=policy)
        tools.append(child.as_tool(name.lower(), "Pay."))
    calls = reply(*[call(name.lower(), prompt="Go.") for name in NAMES])
    return Agent(scripted(calls, "Done."), kind="chat", tools=tools)


def config(home: Path) -> Config:
    return Config(home=home, project="p")


async def go_on(home: Path, ledger: Path, kill: int) -> str:
    """Begin the run, or continue it, and return its status."""
    settings = config(home)
    owner = owner_of(settings.project_folder)
    stored = await opened(settings, read_only=False)
    storage = KillingStorage(stored, owner, ProjectLocks(owner))
    storage.killing = Killing(stored.journal)
    storage.killing.kill = kill
    agent = family(ledger)
    async with World(WorldResources(settings, storage)) as world:
        if not await exists(storage.journal, "r"):
            return (await world.run("Pay.", agent, run_id="r")).status
        if (await world.get("r")).questions:
            return (await agent.approve("r", world=world)).status
        return (await world.resume("r", agent)).status


if __name__ == "__main__":
    print(asyncio.run(go_on(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
