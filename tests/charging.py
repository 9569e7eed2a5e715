"""A process that charges six times, by a tool that must not act twice, and dies: python charging.py
HOME LEDGER KILL [EFFECT DURABILITY]

Every call adds a line to LEDGER. With KILL ``in`` the process kills itself inside of the last call,
after its effect; with ``after`` when the reply after it is asked for; with ``no`` it ends.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from artificer import World
from artificer.agent import Agent
from artificer.backends.function.decorator import FunctionTool, tool
from artificer.config import Config
from artificer.contracts.definition import EffectClass
from artificer.ports import Durability, Provider
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import Run
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply

CHARGES = 6


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def model(kill: str = "no") -> Provider:
    """Charge 0, 1, 2 …, by how far the conversation is."""

    def answer(body: JsonObject) -> ModelReply:
        messages: Any = body["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn < CHARGES:
            return reply(call("charge", n=turn))
        if kill == "after":
            die()
        return say("All is charged.")

    return ScriptedProvider(answer)


def charging(ledger: Path, kill: str = "no", effect: EffectClass = "once") -> FunctionTool:
    """The tool that must not act twice."""

    @tool(effect=effect)
    async def charge(n: int) -> str:
        """Charge somebody."""
        with ledger.open("a", encoding="utf-8") as lines:
            lines.write(f"{n}\n")
        if kill == "in" and n == CHARGES - 1:
            die()
        return f"charged {n}"

    return charge


def config(home: Path, durability: Durability = "process") -> Config:
    return Config(home=home, project="p", durability=durability)


async def begin(
    home: Path,
    ledger: Path,
    kill: str = "no",
    effect: EffectClass = "once",
    durability: Durability = "process",
) -> Run:
    async with World.open(config(home, durability)) as world:
        tools = [charging(ledger, kill, effect)]
        return await world.run("Charge.", Agent(model=model(kill), tools=tools, kind="chat"))


async def resume(home: Path, ledger: Path) -> Run:
    async with World.open(config(home)) as world:
        run = await world.archive.find("last")
        return await world.resume(run, Agent(model=model(), tools=[charging(ledger)], kind="chat"))


if __name__ == "__main__":
    asyncio.run(begin(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
