"""A run that calls two agents, for processes that kill themselves between two of its records."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from artificer import Agent, Policy, ScriptedProvider
from artificer.config import Config
from artificer.ownership.calls import ProjectLocks
from artificer.ownership.process import owner_of
from artificer.ports import Journal, Record
from artificer.providers.scripted import call, reply, say
from artificer.types import FunctionTool
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import OpenStorage
from artificer.wiring.storage_kinds import opened
from wrapped_journal import WrappedJournal

NAMES = ("Ada", "Ben")


class Killing(WrappedJournal):
    """A journal whose process dies after an append."""

    kill = 0

    async def after(self, run: str, records: Sequence[Record]) -> None:
        if 0 < self.kill <= self.appends:  # two may be under way at once
            os.kill(os.getpid(), signal.SIGKILL)


class KillingStorage(OpenStorage):
    """A storage with such a journal."""

    killing: Killing

    @property
    def journal(self) -> Journal:
        return self.killing


def config(home: Path) -> Config:
    return Config(home=home, project="p")


async def killing_world(home: Path, kill: int, storage_url: str = "sqlite") -> WorldResources:
    """The resources of a world. With a positive ``kill`` its process dies after as many appends."""
    settings = config(home).replace(storage=storage_url)
    owner = owner_of(settings.project_folder)
    stored = await opened(settings, read_only=False)
    storage = KillingStorage(stored, owner, ProjectLocks(owner))
    storage.killing = Killing(stored.journal)
    storage.killing.kill = kill
    return WorldResources(settings, storage)


def family_of(pay: FunctionTool, policy: Policy | None = None) -> Agent:
    """An agent that calls two others, each of which pays once."""
    tools = []
    for name in NAMES:
        model = _scripted(reply(call("pay", to=name)), f"{name} has it.")
        child = Agent(model, kind="chat", tools=[pay], policy=policy)
        tools.append(child.as_tool(name.lower(), "Pay."))
    calls = reply(*[call(name.lower(), prompt="Go.") for name in NAMES])
    return Agent(_scripted(calls, "Done."), kind="chat", tools=tools)


def _scripted(first: ModelReply, last: str) -> ScriptedProvider:
    """A model that answers by how far the conversation is, in whichever process."""

    def answer(body: JsonObject) -> ModelReply:
        return first if len(body["messages"]) < 3 else say(last)  # type: ignore[arg-type]

    return ScriptedProvider(answer)
