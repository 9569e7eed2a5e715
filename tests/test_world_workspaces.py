"""Runs that work in workspaces: the same gate, journal, resumption and replay as any tool."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.backends.workspace.folder import commit_folder
from artificer.config import Config, load_config
from artificer.contracts.capabilities import Capabilities, Grant
from artificer.core.events import ToolReturned
from artificer.core.policy import Policy, Rule
from artificer.errors import ConfigError, TamperedError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.model import ModelFailure
from artificer.world import World

NOTES = Capabilities(workspaces=(Grant(names=("notes",)),))
FIRST = call("workspace.write", workspace="notes", version=0, files=[{"path": "a", "text": "1"}])
DOWN = ModelFailure(code="unavailable", message="down")


async def told(world: World, run: str) -> list[tuple[str, dict[str, Any]]]:
    events = [getattr(line, "event", None) for line in (await world.archive.history(run)).lines]
    return [(e.status, json.loads(e.content)) for e in events if isinstance(e, ToolReturned)]


@pytest.mark.req("workspace-gate")
async def test_every_call_is_judged_recorded_and_replayed() -> None:
    deny = Policy(rules=(Rule(decision="deny", tool="workspace.commit", reason="Not today."),))
    script = [
        reply(FIRST),
        reply(
            call("workspace.read", workspace="notes"), call("workspace.commit", workspace="notes")
        ),
        say("Done."),
    ]
    async with World.in_memory() as world:
        run = await world.run(
            "Go.",
            Agent(model=ScriptedProvider(script), capabilities=NOTES, policy=deny, kind="chat"),
        )
        (status, answer), *rest = await told(world, run.id)
        assert (status, answer["draft"], rest) == ("ok", True, [])
        results = [b for m in run.state.history for b in m.blocks if b.type == "tool_result"]
        assert [b.status for b in results] == ["ok", "invalid", "denied"]
        assert world.archive.workspaces.names() == []
        assert (await world.archive.replay(run.id)).identical
        assert (await world.archive.verify()).sound


@pytest.mark.req("workspace-conflict-seen")
async def test_a_conflict_is_what_the_model_reads_next(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("theirs")
    async with World.in_memory() as world:
        commit = call("workspace.commit", workspace="notes", message="mine")
        provider = ScriptedProvider([reply(FIRST), DOWN])
        stalled = await world.run(
            "Go.", Agent(model=provider, capabilities=NOTES, kind="chat"), run_id="x"
        )
        assert stalled.status == "stalled"
        assert commit_folder(world.archive.workspaces, "notes", tmp_path).version
        provider = ScriptedProvider([reply(commit), say("Somebody else was first.")])
        run = await world.resume("x", Agent(model=provider, kind="chat"))
        assert run.status == "completed"
        status, answer = (await told(world, "x"))[-1]
        assert (status, answer["conflict"]["expected"], answer["conflict"]["actual"]) == (
            "ok",
            0,
            1,
        )
        assert '"conflict"' in json.dumps(provider.requests[-1]).replace("\\", "")


@pytest.mark.req("workspace-resumed")
async def test_a_draft_outlives_its_process(tmp_path: Path) -> None:
    config = load_config(tmp_path, home=str(tmp_path / "home"), durability="process")
    async with World.open(config) as world:
        script = ScriptedProvider([reply(FIRST), DOWN])
        await world.run("Go.", Agent(model=script, capabilities=NOTES, kind="chat"), run_id="x")
        assert world.archive.workspaces.names() == []
    async with World.open(config) as world:
        read = call("workspace.read", workspace="notes", path="a")
        commit = call("workspace.commit", workspace="notes")
        script = ScriptedProvider([reply(read), reply(commit), say("Done.")])
        await world.resume("x", Agent(model=script, kind="chat"))
        (_, _), (_, seen), (_, done) = await told(world, "x")
        assert (seen["text"], seen["draft"], done["version"]) == ("1", True, 1)
        assert (await world.archive.replay("x")).identical
    async with World.open(config) as world:
        (version,) = world.archive.workspaces.log("notes")
        assert version.run == "x"


@pytest.mark.req("facilities-configured")
class TestConfigured:
    async def test_nothing_is_given_that_nobody_configured(self, tmp_path: Path) -> None:
        config = load_config(tmp_path, home=str(tmp_path / "home"))
        assert config.capabilities == Capabilities()
        async with World.in_memory(config) as world:
            provider = ScriptedProvider([say("Hi.")])
            await world.run("Go.", Agent(model=provider, kind="chat"))
            assert provider.requests[0]["tools"] == []

    async def test_the_file_gives_and_a_run_remembers(self, tmp_path: Path) -> None:
        (tmp_path / "artificer.toml").write_text(
            '[[workspaces]]\nnames = ["notes"]\noperations = ["list", "write"]\npaths = ["a"]\n'
        )
        config = load_config(tmp_path, home=str(tmp_path / "home"))
        async with World.open(config) as world:
            script = ScriptedProvider([reply(FIRST), DOWN])
            await world.run("Go.", Agent(model=script, kind="chat"), run_id="x")
            tools = [tool["name"] for tool in script.requests[0]["tools"]]
            assert tools == ["workspace.list", "workspace.write"]
        (tmp_path / "artificer.toml").write_text("")
        async with World.open(load_config(tmp_path, home=str(tmp_path / "home"))) as world:
            run = await world.resume(
                "x", Agent(model=ScriptedProvider([say("Done.")]), kind="chat")
            )
            assert run.status == "completed"

    @pytest.mark.parametrize(
        "text",
        ["[[workspaces]]\n", '[[workspaces]]\nnames = ["a/b"]\n', '[[workspaces]]\nname = "a"\n'],
    )
    def test_a_wrong_grant_is_told(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "artificer.toml").write_text(text)
        with pytest.raises(ConfigError, match="workspaces"):
            load_config(tmp_path)


@pytest.mark.req("chained-notes")
async def test_a_workspace_that_was_removed_from_its_table_is_missed(tmp_path: Path) -> None:
    """Verified, collected or worked in: nowhere is it taken for one that never was."""
    config = Config(home=tmp_path, project="p", durability="process")
    commit = call("workspace.commit", workspace="notes", message="A note.")
    script = [reply(FIRST), reply(commit), say("Done.")]
    async with World.open(config) as world:
        run = await world.run(
            "Go.", Agent(model=ScriptedProvider(script), capabilities=NOTES, kind="chat")
        )
        assert run.status == "completed" and world.archive.workspaces.names() == ["notes"]
    db = sqlite3.connect(config.project_folder / "journal.db")
    db.execute("DELETE FROM versions")
    db.commit()
    db.close()
    async with World.open(config) as world:
        assert any("'notes'" in problem for problem in (await world.archive.verify()).problems)
        assert not (await world.maintenance.fsck()).sound
        with pytest.raises(TamperedError, match="'notes'"):
            await world.maintenance.gc(older_than_s=0)
        provider = ScriptedProvider([reply(FIRST), say(".")])
        again = await world.run("Go.", Agent(model=provider, capabilities=NOTES, kind="chat"))
        events = [
            getattr(line, "event", None) for line in (await world.archive.history(again.id)).lines
        ]
        (returned,) = [e for e in events if isinstance(e, ToolReturned)]
        assert returned.status == "error" and "the journal tells of" in returned.content
        assert (await world.maintenance.fsck(repair=True)).sound
        assert [version.message for version in world.archive.workspaces.log("notes")] == ["A note."]
