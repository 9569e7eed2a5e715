"""The tree of child runs, in the library and on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import preloaded
from artificer import Agent, Config, ForkChanges, ScriptedProvider, World
from artificer.providers.scripted import call, reply, say
from artificer.values.model import ModelFailure

pytestmark = pytest.mark.req("child-tree")

DOWN = ModelFailure(code="unavailable", message="down")


def chat(*script: object, **options: object) -> Agent:
    return Agent(ScriptedProvider(list(script)), kind="chat", **options)  # type: ignore[arg-type]


def three_generations() -> Agent:
    """A chief that calls an editor, which calls a writer, and then a checker."""
    writer = chat(say("Once."))
    edit = chat(
        reply(call("write", prompt="Tell.")),
        say("Edited."),
        tools=[writer.as_tool("write", "Write.")],
    )
    check = chat(say("Checked."))
    return chat(
        reply(call("edit", prompt="Edit.")),
        reply(call("check", prompt="Check.")),
        say("Done."),
        tools=[edit.as_tool("edit", "Edit."), check.as_tool("check", "Check.")],
    )


async def test_children_are_listed_below_their_parents_in_call_order() -> None:
    async with World.in_memory() as world:
        run = await world.run("Go.", three_generations(), run_id="r")
        nodes = await world.archive.children("r")
        assert [(n.tool, n.depth, n.status, n.turns) for n in nodes] == [
            ("edit", 1, "completed", 2),
            ("write", 2, "completed", 1),
            ("check", 1, "completed", 1),
        ]
        assert nodes[1].parent == nodes[0].run
        assert run.children == (nodes[0].run, nodes[2].run)
        used = [n.usage.input_tokens + n.usage.output_tokens for n in nodes]
        assert used[0] == 3 * used[1], "a child's usage includes that of its own children"


async def test_a_fork_has_none_of_the_children_of_its_origin() -> None:
    agent = three_generations()
    async with World.in_memory() as world:
        await world.run("Go.", agent, run_id="r")
        fork = await world.fork(
            "r", three_generations_again(), ForkChanges(steer="More."), new_id="f"
        )
        assert fork.children == ()
        assert await world.archive.children("f") == []


def three_generations_again() -> Agent:
    none = chat()
    return chat(
        say("More."), tools=[none.as_tool("edit", "Edit."), none.as_tool("check", "Check.")]
    )


async def test_a_run_with_the_id_of_a_child_is_not_taken_for_one() -> None:
    class Crash(BaseException):
        """The end of the process."""

    def crash(body: object) -> object:
        raise Crash

    writer = Agent(ScriptedProvider(crash), kind="chat")  # type: ignore[arg-type]
    agent = chat(reply(call("write", prompt="Tell.")), tools=[writer.as_tool("write", "Write.")])
    async with World.in_memory() as one, World.in_memory() as other:
        with pytest.raises(Crash):
            await one.run("Go.", agent, run_id="r")
        (child,) = (await one.get("r")).children
        await other.import_run(await one.archive.export_run("r"))
        assert await other.archive.children("r") == [], "it never began here"
        await other.run("Mine.", chat(say("Mine.")), run_id=child)
        assert await other.archive.children("r") == []


def artificer(home: Path, *words: str) -> str:
    environment = {**os.environ, "ARTIFICER_HOME": str(home), "ARTIFICER_PROJECT": "p"}
    ended = preloaded.run(
        ["-m", "artificer", *words], env=environment, cwd=home, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout)


async def test_the_command_line_shows_the_tree(tmp_path: Path) -> None:
    async with World.open(Config(home=tmp_path, project="p")) as world:
        run = await world.run("Go.", three_generations(), run_id="r")
        child = run.children[0]
    shown = artificer(tmp_path, "show", "r", "--tree").splitlines()
    assert shown[0].startswith("chat r · completed · 3 runs")
    assert shown[1].split() == ["AGENT", "RUN", "STATUS", "TURNS", "TOKENS", "COST"]
    assert shown[2].startswith("  edit") and shown[3].startswith("    write")
    tree = json.loads(artificer(tmp_path, "show", "r", "--tree", "--json"))
    assert [node["tool"] for node in tree["runs"]] == ["edit", "write", "check"]
    listed = artificer(tmp_path, "runs", "--tree").splitlines()
    assert [line.split()[0] for line in listed] == [
        "RUN", "r", *(n["run"].removeprefix("r") for n in tree["runs"])
    ]  # fmt: skip
    (only,) = json.loads(artificer(tmp_path, "runs", "--tree", "--json"))
    assert only["runs"][0]["run"] == child
    assert only["usage"]["output_tokens"] == 35
