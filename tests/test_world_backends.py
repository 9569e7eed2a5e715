"""Runs whose tools are requests and other servers: the same gate, journal and replay."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.backends.mcp.settings import McpConfig, McpServerConfig
from artificer.config import Config, load_config
from artificer.core.events import ToolReturned
from artificer.core.policy import Policy, Rule
from artificer.errors import AuthorError, ConfigError, OperatorError, UnstoredError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import History, Run
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory.storage import MemoryStorage
from artificer.world import World

STUB = str(Path(__file__).parent / "backends" / "mcp_stub.py")


def config(**server: Any) -> Config:
    """A project with the stub as its MCP server."""
    stub = McpServerConfig(command=(sys.executable, STUB), **server)
    return Config(mcp=McpConfig(servers={"stub": stub}))


def results(history: History) -> list[ToolReturned]:
    """Return the results of a run's calls."""
    events = [getattr(line, "event", None) for line in history.lines]
    return [event for event in events if isinstance(event, ToolReturned)]


async def play(world: World, *calls: Any, **fields: Any) -> Run:
    """A run whose model makes these calls and ends."""
    provider = ScriptedProvider([reply(*calls), say("done")])
    return await world.run("go", Agent(model=provider, **fields))


@pytest.mark.req("backend-runs")
async def test_a_servers_tool_passes_the_gate_and_is_journaled_and_replayed() -> None:
    async with World.in_memory(config(allow=("add",))) as world:
        run = await play(world, call("stub.add", a=1, b=2), call("stub.add", a=99, b=2))
        history = await world.archive.history(run.id)
        (returned,) = results(history)
        answer, _, data = returned.content.partition("\n[Data: ")
        assert json.loads(answer)["results"] == {"sum": 3}
        assert data.startswith('stub.add#1 · values at "/sum"')
        assert json.loads(returned.evidence or "")["server"] == "stub"
        statuses = [
            b.status for m in run.state.history for b in m.blocks if b.type == "tool_result"
        ]
        assert statuses == ["ok", "invalid"], "a = 99 breaks the server's own schema"
        assert (await world.archive.replay(run.id)).identical


@pytest.mark.req("backend-runs")
async def test_policy_holds_for_a_servers_tools() -> None:
    policy = Policy(rules=(Rule(decision="deny", tool="stub.*", risk=("high",)),))
    async with World.in_memory(config(allow=("echo",), risk="high")) as world:
        run = await play(world, call("stub.echo", x="a"), policy=policy)
        assert results(await world.archive.history(run.id)) == []


@pytest.mark.req("backend-runs")
async def test_manifests_name_servers_and_requests(tmp_path: Path) -> None:
    head = '[tool]\nname = "{}"\nversion = "1"\ndescription = "d"\n[args.x]\nrequired = true\n'
    (tmp_path / "m.clad.toml").write_text(
        head.format("m") + '[mcp]\nserver = "stub"\ntool = "echo"\n'
    )
    (tmp_path / "h.clad.toml").write_text(
        head.format("h") + '[http]\nurl = "http://127.0.0.1:1/{x}"\n'
    )
    async with World.in_memory(config(allow=())) as world:
        run = await play(world, call("m", x="hello"), call("h", x="a"), tools=[tmp_path])
        said = [json.loads(r.content) for r in results(await world.archive.history(run.id))]
    assert {"status": "success", "output": "hello"} in said
    assert any("not on the public internet" in one.get("fault", "") for one in said)


class FullStore(MemoryStore):
    """A store whose disk may be full."""

    full = True

    def put(self, data: bytes) -> str:
        if self.full:
            raise OperatorError("The disk is full.", hint="Free some space.")
        return super().put(data)


PAYS = """
[tool]
name = "pay"
version = "1"
description = "Pay, and say a lot about it."
[command]
exec = ["sh", "-c", "echo paid >> paid.txt; yes | head -c 900000"]
"""


@pytest.mark.req("call-unstored")
async def test_a_call_whose_output_cannot_be_stored_has_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pay.clad.toml").write_text(PAYS)
    storage = MemoryStorage()
    store = FullStore()
    storage.blobs = JoinedStore(storage.journal.small, store)
    model = ScriptedProvider([reply(call("pay")), say("It may have been paid.")])
    agent = Agent(model, kind="chat", tools=[tmp_path])
    async with World.open(Config(home=tmp_path / "home"), storage) as world:
        with pytest.raises(UnstoredError, match="The disk is full"):
            await world.run("Pay.", agent, run_id="aa-1")
        store.full = False
        run = await world.resume("aa-1", agent)
        assert (run.status, len(run.doubts)) == ("completed", 1)
        assert [one.status for one in results(await world.archive.history(run.id))] == ["ambiguous"]
        assert (await world.archive.replay(run.id)).identical
    assert (tmp_path / "paid.txt").read_text() == "paid\n"


@pytest.mark.req("backend-runs")
async def test_a_manifest_that_names_no_server_is_told_which_there_are(tmp_path: Path) -> None:
    (tmp_path / "m.clad.toml").write_text(
        '[tool]\nname = "m"\nversion = "1"\ndescription = "d"\n[mcp]\nserver = "no"\ntool = "t"\n'
    )
    async with World.in_memory(config()) as world:
        with pytest.raises(ConfigError, match="Unknown MCP server: 'no'"):
            await play(world, tools=[tmp_path])


@pytest.mark.req("mcp-resume")
async def test_a_tool_list_that_has_changed_refuses_to_resume(tmp_path: Path) -> None:
    def at(**server: Any) -> Config:
        here = {"home": tmp_path, "project": "p", "durability": "process"}
        return config(**server).replace(**here)

    async with World.open(at(allow=("add", "echo"))) as world:
        with pytest.raises(AuthorError, match="has no reply"):  # the run is left where it began
            await world.run("go", Agent(model=ScriptedProvider([]), kind="chat"), run_id="r1")
    async with World.open(at(allow=("echo",))) as world:
        with pytest.raises(ConfigError, match=r"stub\.add"):
            await world.resume("r1", Agent(model=ScriptedProvider([say("x")]), kind="chat"))
    async with World.open(at(allow=("add", "echo"))) as world:
        assert (
            await world.resume("r1", Agent(model=ScriptedProvider([say("x")]), kind="chat"))
        ).text == "x"


@pytest.mark.req("mcp-config")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[mcp.servers.s]\n", "needs either 'command' or 'url'"),
        ('[mcp.servers.s]\ncommand = ["x"]\nurl = "http://h/"\n', "needs either"),
        ('[mcp.servers."a.b"]\ncommand = ["x"]\n', "pattern"),
        ('[mcp.servers.s]\nurl = "ftp://h/"\n', "url"),
        ('[mcp.servers.s]\ncommand = ["x"]\nallowed = []\n', "allowed"),
    ],
)
def test_a_server_is_configured_strictly(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "artificer.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path)


@pytest.mark.req("mcp-config")
def test_a_server_is_read_from_the_projects_file(tmp_path: Path) -> None:
    (tmp_path / "artificer.toml").write_text(
        '[mcp.servers.s]\ncommand = ["x", "y"]\neffect = "pure"\nallow = ["a"]\n'
    )
    server = load_config(tmp_path).mcp.servers["s"]
    assert (server.command, server.effect, server.allow) == (("x", "y"), "pure", ("a",))
