"""Runs that work in a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.config import Config
from artificer.contracts.capabilities import Capabilities, Host
from artificer.core.events import ToolReturned
from artificer.errors import ConfigError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.model import ModelFailure
from artificer.world import World

DOWN = ModelFailure(code="unavailable", message="down")

CAT = f"""
[tool]
name = "look"
version = "1"
description = "Print a file."
effect = "pure"
[args.name]
type = "path"
required = true
[command]
exec = ["{sys.executable}", "-c", "import sys; print(open(sys.argv[1]).read(), end='')", "{{name}}"]
"""


def given(folder: Path, **more: Any) -> Capabilities:
    return Capabilities(host=Host(folder=str(folder), **more))


async def told(world: World, run: str) -> list[tuple[str, str]]:
    events = [getattr(line, "event", None) for line in (await world.archive.history(run)).lines]
    return [(e.status, e.content) for e in events if isinstance(e, ToolReturned)]


@pytest.mark.req("host-gate")
async def test_a_task_with_a_detour_from_listing_to_report(tmp_path: Path) -> None:
    """List, read the job, miss the preferred log, read the other, write the report."""
    (tmp_path / "job.txt").write_text("Token from a.log, or else b.log, into out/report.txt\n")
    (tmp_path / "b.log").write_text("token=abc\n")
    script = [
        reply(call("host.list")),
        reply(call("host.read", path="job.txt"), call("host.read", path="a.log")),
        reply(call("host.grep", pattern="token=", path="b.log")),
        reply(call("host.write", path="out/report.txt", text="abc\n", expect="absent")),
        reply(call("host.write", path="../x", text="")),
        say("Done."),
    ]
    async with World.in_memory() as world:
        run = await world.run(
            "Go.", Agent(model=ScriptedProvider(script), capabilities=given(tmp_path), kind="chat")
        )
        results = [b for m in run.state.history for b in m.blocks if b.type == "tool_result"]
        assert [b.status for b in results] == ["ok", "ok", "error", "ok", "ok", "denied"]
        assert (tmp_path / "out/report.txt").read_text() == "abc\n"
        assert (await world.archive.replay(run.id)).identical


@pytest.mark.req("host-exec")
async def test_programs_run_in_the_folder_and_only_as_manifests_say(tmp_path: Path) -> None:
    tools, folder = tmp_path / "tools", tmp_path / "folder"
    for place in (tools, folder):
        place.mkdir()
    (tools / "look.clad.toml").write_text(CAT)
    (folder / "f").write_text("hello")
    (tmp_path / "secret").write_text("secret")
    script = [
        reply(call("host.write", path="g", text="written")),
        reply(call("look", name="g"), call("look", name="../secret"), call("look", name="f")),
        reply(call("host.exec", command="cat f")),
        say("Done."),
    ]
    async with World.in_memory() as world:
        provider = ScriptedProvider(script)
        run = await world.run(
            "Go.", Agent(model=provider, tools=[tools], capabilities=given(folder), kind="chat")
        )
        results = [b for m in run.state.history for b in m.blocks if b.type == "tool_result"]
        assert [b.status for b in results] == ["ok", "ok", "invalid", "ok", "unknown_tool"]
        outputs = [json.loads(b.content)["stdout"] for b in (results[1], results[3])]
        assert outputs == ["written", "hello"]


@pytest.mark.req("facilities-configured")
async def test_a_resumed_run_has_its_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "f").write_text("hello\n")
    config = Config(home=tmp_path / "home", project="p", durability="process")
    monkeypatch.chdir(tmp_path)
    async with World.open(config) as world:
        script = ScriptedProvider([reply(call("host.read", path="f")), DOWN])
        await world.run(
            "Go.", Agent(model=script, capabilities=given(Path("folder")), kind="chat"), run_id="x"
        )
    monkeypatch.chdir("/")
    async with World.open(config) as world:
        edit = {"path": "f", "old": "hello", "new": "bye"}
        script = ScriptedProvider(
            [
                reply(call("host.edit", **edit)),
                reply(call("host.read", path="f")),
                reply(call("host.edit", **edit)),
                say("Done."),
            ]
        )
        await world.resume("x", Agent(model=script, kind="chat"))
        statuses = [status for status, _ in await told(world, "x")]
        assert statuses == ["ok", "error", "ok", "ok"]
    assert (folder / "f").read_text() == "bye\n"


@pytest.mark.req("facilities-configured")
async def test_a_folder_that_is_gone_is_the_operator_s_turn(tmp_path: Path) -> None:
    async with World.in_memory() as world:
        with pytest.raises(ConfigError, match="does not exist"):
            await world.run(
                "Go.",
                Agent(
                    model=ScriptedProvider([]), capabilities=given(tmp_path / "gone"), kind="chat"
                ),
            )
