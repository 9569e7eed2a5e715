"""A process that drives, resumes or cancels a run whose one tool acts on the world outside.

It is given one JSON object, prints ``ready``, does as it was asked when a line comes in, and prints
what came of it as JSON. The tool writes lines into ``ledger``: ``begin``, then ``act`` when there
is a file ``go``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paying
from msgspec import structs
from paying import PROGRAM, write

from artificer import Config, Limits, ScriptedProvider, World, tool
from artificer.agent import Agent
from artificer.errors import ArtificerError
from artificer.providers.scripted import call, reply, say
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolResultBlock
from artificer.values.model import ModelReply


def has_acted(folder: Path) -> bool:
    """Whether the effect has happened."""
    ledger = folder / "ledger"
    return ledger.exists() and "act" in ledger.read_text(encoding="utf-8")


def tools(folder: Path, asked: dict[str, Any]) -> list[Any]:
    """The tool ``pay``: of the kind and the effect that were asked for, with a probe or without."""
    if asked.get("kind") == "command":
        (folder / "tools").mkdir(exist_ok=True)
        probe = ""
        if asked.get("probe"):
            probe = f'[tool.probe]\nexec = ["{sys.executable}", "{PROGRAM}", "find"]\n'
        (folder / "tools" / "pay.clad.toml").write_text(
            f'[tool]\nname = "pay"\nversion = "1"\ndescription = "Pay."\n'
            f'effect = "{asked["effect"]}"\n{probe}[command]\n'
            f'exec = ["{sys.executable}", "{PROGRAM}", "{asked.get("way", "act")}"]\n'
        )
        return [folder / "tools"]

    runtime = os.getpid()

    def find() -> bool:
        if number := asked.get("probe_sends"):
            os.kill(runtime, number)
            time.sleep(600)  # it is ended with the runtime
        return has_acted(folder)

    async def pay_here() -> str:
        """Pay."""
        write("begin")
        while not (folder / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        write("act")
        return "paid"

    async def pay_again(number: int) -> str:
        """Pay, one of several times."""
        return await pay_here()

    options: dict[str, Any] = {"name": "pay", "effect": asked["effect"]}
    if asked.get("probe"):
        options["probe"] = find
    if asked.get("kind") == "async":
        return [tool(**options)(pay_again if asked.get("calls") else pay_here)]
    if in_thread := {"thread": paying.started, "forked": paying.forked}.get(asked.get("kind", "")):
        return [tool(**options)(in_thread)]
    pay = paying.daemon if asked.get("way") == "daemon" else paying.act
    return [tool(isolation="process", **options)(pay)]


def answering(calls: int) -> Callable[[JsonObject], ModelReply]:
    """Return what answers with one call, or some that have numbers; and then with the end."""
    pays = [call("pay", number=n) for n in range(calls)] or [call("pay")]

    def answer(body: JsonObject) -> ModelReply:
        messages: Any = body["messages"]
        asked = any(message["role"] == "assistant" for message in messages)
        return say("Done.") if asked else reply(*pays)

    return answer


async def work(folder: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Do as was asked."""
    home, url = folder / asked.get("home", "home"), asked.get("storage", "sqlite")
    seconds = asked.get("lease_seconds", 30)
    config = Config(home=home, project="p", storage=url, lease_seconds=seconds)
    async with World.open(config) as world:
        storage = world._resources.storage
        if storage.locks is not None:
            patience = asked.get("patience_s", storage.locks.patience_s)
            storage.locks = structs.replace(storage.locks, patience_s=patience)
        model = ScriptedProvider(answering(asked.get("calls", 0)))
        match asked["do"]:
            case "confirm":
                return {"dead": storage.owner.confirm_dead()}
            case "run":
                one = Limits(concurrency=1)
                paying = Agent(kind="chat", model=model, tools=tools(folder, asked), limits=one)
                run = await world.run("Go.", paying, run_id="r")
            case "resume":
                run = await world.resume(
                    "r",
                    Agent(model=model, tools=tools(folder, asked), kind="chat"),
                    take_over=asked.get("take_over", False),
                )
            case _:
                run = await world.cancel("r")
        blocks = [b for m in run.state.history for b in m.blocks if isinstance(b, ToolResultBlock)]
        identical = (await world.archive.replay("r", model=model)).identical
    return {
        "status": run.status,
        "results": [[block.status, block.content] for block in blocks],
        "identical": identical,
    }


def main() -> None:
    """See above."""
    folder = Path.cwd()
    asked = json.loads(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        found = asyncio.run(work(folder, asked))
    except ArtificerError as error:
        found = {"error": error.code, "message": error.message, "hint": error.hint}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    # A shell lets what it starts in the background ignore the interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
