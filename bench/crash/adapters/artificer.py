"""Artificer: ``World.run`` with an id, then ``World.resume``; approval is a letter to the run.

A run that starts others is ``World.build``: its code run adds a line to a file of a git repository.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from outside import DamagedError, NothingToResumeError, Outside, WaitingError

import artificer
from artificer.agent import Agent
from artificer.builds.brief import Brief
from artificer.errors import NotFoundError, TamperedError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolUseBlock
from artificer.values.model import ModelReply

NAME = "Artificer"
WARM = True
CHILDREN = True
PROBES = True
NOT: dict[str, str] = {}
ASK = artificer.Policy(rules=(artificer.Rule(decision="ask", tool="charge"),))


def version() -> str:
    return version_of("artificer")


def told(messages: Any) -> list[tuple[str, str]]:
    blocks = [block for message in messages for block in message["blocks"]]
    results = {b["tool_use_id"]: b["content"] for b in blocks if b["type"] == "tool_result"}
    calls = [b for b in blocks if b["type"] == "tool_use" and b["id"] in results]
    return [(json.loads(b["arguments"])["order"], results[b["id"]]) for b in calls]


async def drive(outside: Outside) -> None:
    try:
        if outside.script == "in a child run":
            return await drive_build(outside)
        return await drive_run(outside)
    except TamperedError as error:
        raise DamagedError from error


async def drive_run(outside: Outside) -> None:
    def answer(body: JsonObject) -> ModelReply:
        messages: Any = body["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        said = outside.model(turn, told(messages))
        calls = [
            ToolUseBlock(id=id_, name="charge", arguments=json.dumps({"order": order}))
            for id_, order in said.calls
        ]
        return reply(*calls) if calls else say(said.text)

    async def here(order: str) -> str:
        return await outside.charge(order)

    def apart(order: str) -> str:
        return asyncio.run(outside.charge(order))

    def happened(order: str) -> str | bool:
        return f"charged {order}" if outside.has_charged(order) else False

    options: dict[str, Any] = {"probe": happened} if outside.probe else {}
    charge = artificer.tool(
        name="charge", description="Charge for an order.", effect="once", **options
    )(apart if outside.apart else here)

    model = ScriptedProvider(answer)
    config = artificer.Config(home=outside.state, project="bench")
    async with artificer.World.open(config) as world:
        if not outside.resumed:
            policy = ASK if outside.approval else None
            run = await world.run(
                "Go.", Agent(model=model, tools=[charge], policy=policy, kind="chat"), run_id="run"
            )
        else:
            try:
                if outside.plan.approve:
                    for question in (await world.get("run")).questions:
                        await world.send(
                            "run", artificer.AnswerCall(call=question.digest, approved=True)
                        )
                run = await world.resume(
                    "run",
                    Agent(model=model, tools=[charge], kind="chat"),
                    take_over=outside.take_over,
                )
            except NotFoundError as error:
                raise NothingToResumeError from error
    if run.status == "waiting":
        raise WaitingError
    assert run.status == "completed", run.status


FIRST = "Orders:\n"


async def drive_build(outside: Outside) -> None:
    """A build of one code run: it reads a file, adds a line to it, and says that it is done."""
    project = outside.folder / "project"
    if not (project / ".git" / "made").exists():
        make_project(project)

    def answer(body: JsonObject) -> ModelReply:
        messages: Any = body["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        outside.model(turn, edited(messages))
        done = {name for name, status in called(messages)[-1:] if status == "ok"}
        if "complete_task" in done:
            return say("Done.")
        if "host.edit" in done:
            return reply(call("complete_task", summary="Done."))
        if "host.read" in done:
            new = f"{FIRST}charged A\n"
            return reply(call("host.edit", path="orders.txt", old=FIRST, new=new))
        return reply(call("host.read", path="orders.txt"))  # also where it was read before a crash

    model = ScriptedProvider(answer)
    config = artificer.Config(home=outside.state, project="bench")
    async with artificer.World.open(config) as world:
        if not outside.resumed:
            run = await world.build(
                Brief("Charge A.", validation="make test"),
                Agent(model=model, kind="chat"),
                project=project,
                run_id="run",
            )
        else:
            try:
                run = await world.resume("run", Agent(model=model, kind="chat"))
            except NotFoundError as error:
                raise NothingToResumeError from error
        assert run.status == "completed", (run.status, run.state.reason)
        await world.builds.promote("run")
    shown = git(project, "show", "build/run:orders.txt")
    for line in shown.splitlines()[1:]:
        outside.write("effects", {"order": line.removeprefix("charged ")})


def called(messages: Any) -> list[tuple[str, str]]:
    """The calls of a conversation that have a result, each with its status."""
    blocks = [block for message in messages for block in message["blocks"]]
    results = {b["tool_use_id"]: b["status"] for b in blocks if b["type"] == "tool_result"}
    calls = [b for b in blocks if b["type"] == "tool_use" and b["id"] in results]
    return [(b["name"], results[b["id"]]) for b in calls]


def edited(messages: Any) -> list[tuple[str, str]]:
    """Return what the conversation says about the one order."""
    edits = [status for name, status in called(messages) if name == "host.edit"]
    return [("A", "charged A" if status == "ok" else status) for status in edits]


def make_project(project: Path) -> None:
    """A git repository with one file."""
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    (project / "orders.txt").write_text(FIRST)
    (project / "Makefile").write_text("test:\n\t@grep -q charged orders.txt\n")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "Orders"]):
        git(project, *words)
    (project / ".git" / "made").touch()


def git(project: Path, *words: str) -> str:
    """Run git, and return what it printed."""
    return subprocess.run(
        ["git", *words], cwd=project, check=True, capture_output=True, text=True
    ).stdout
