"""A worker of a run that calls two agents: python dispatched_family.py HOME LEDGER KILL HOW

It works until nothing goes on by itself. With a positive KILL it kills itself with SIGKILL after
as many appends to any journal. Each payment adds a line to LEDGER. HOW is ``pays``, or
``cancelled``: then no payment comes to its end, and the run is cancelled during both.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from artificer import Agent, Cancel, ScriptedProvider, World, tool
from artificer.config import Config
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.sweeper import SweepTimes
from artificer.dispatch.worker import Worker, WorkerOptions
from artificer.ownership.calls import ProjectLocks
from artificer.ownership.process import owner_of
from artificer.ports import Journal, Record
from artificer.providers.scripted import call, reply, say
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import OpenStorage
from artificer.wiring.storage_kinds import opened

sys.path.insert(0, str(Path(__file__).parents[1]))

from wrapped_journal import WrappedJournal

NAMES = ("Ada", "Ben")
NAME = "family:agent"


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


def paid_by(ledger: Path) -> set[str]:
    return set(ledger.read_text(encoding="utf-8").split())


def family(ledger: Path, how: str, all_paid: asyncio.Event | None = None) -> Agent:
    @tool(effect="once" if how == "pays" else "idempotent", resources=[])
    async def pay(to: str) -> str:
        """Pay."""
        with ledger.open("a", encoding="utf-8") as lines:
            lines.write(f"{to}\n")
        if how == "cancelled":
            if all_paid is not None and paid_by(ledger) == set(NAMES):
                all_paid.set()
            await asyncio.Event().wait()
        return f"paid {to}"

    tools = []
    for name in NAMES:
        model = scripted(reply(call("pay", to=name)), f"{name} has it.")
        child = Agent(model, kind="chat", tools=[pay])
        tools.append(child.as_tool(name.lower(), "Pay."))
    calls = reply(*[call(name.lower(), prompt="Go.") for name in NAMES])
    return Agent(scripted(calls, "Done."), kind="chat", tools=tools)


def config(home: Path) -> Config:
    return Config(home=home, project="p")


async def work(home: Path, ledger: Path, kill: int, how: str) -> None:
    """Execute the runs of the world."""
    settings, paid = config(home), asyncio.Event()
    owner = owner_of(settings.project_folder)
    stored = await opened(settings, read_only=False)
    storage = KillingStorage(stored, owner, ProjectLocks(owner))
    storage.killing = Killing(stored.journal)
    storage.killing.kill = kill
    times = SweepTimes(new_s=0.01, lost_s=0.05, all_s=0.05)
    async with World(WorldResources(settings, storage)) as world:
        options = WorkerOptions(slots=2, until_idle=True, sweep=times)
        agents = {NAME: family(ledger, how, paid)}
        worker = asyncio.create_task(Worker(world, LocalDispatcher(), agents, options).run())
        if how == "cancelled":
            waiting = asyncio.create_task(paid.wait())
            await asyncio.wait((worker, waiting), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.cancel() and (await world.get("r")).state.status is None:
                await world.send("r", Cancel(reason="Enough."))
        await worker


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
