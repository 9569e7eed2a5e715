"""Runs that look at themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.backends.mcp.settings import McpConfig, McpServerConfig
from artificer.config import Config, load_config
from artificer.contracts.capabilities import Capabilities
from artificer.core.policy import Policy, Rule
from artificer.core.record import EventLine
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.blocks import ToolUseBlock
from artificer.values.canon import canonical, digest_of
from artificer.world import World

GIVEN = Capabilities(introspect=True)


@tool(effect="pure")
async def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


@tool(effect="pure")
async def long(count: int) -> str:
    """A long text."""
    return "x" * count


async def ask(
    world: World, *turns: list[ToolUseBlock], run_id: str = "x", **fields: Any
) -> list[tuple[str, dict[str, Any]]]:
    """Run a script of calls, and return what the introspect calls brought back."""
    script = ScriptedProvider([*(reply(*calls) for calls in turns), say("Done.")])
    agent = Agent(
        **{
            "model": script,
            "kind": "chat",
            "tools": [double, long],
            "capabilities": GIVEN,
            **fields,
        }
    )
    run = await world.run("What are you?", agent, run_id=run_id)
    names = {c.id: c.name for m in run.state.history for c in m.calls}
    return [
        (b.status, json.loads(b.content))
        for m in run.state.history
        for b in m.blocks
        if b.type == "tool_result" and names[b.tool_use_id].startswith("introspect.")
    ]


@pytest.mark.req("introspect-consistent")
class TestConsistency:
    async def test_the_head_is_what_the_journal_holds_by_then(self) -> None:
        async with World.in_memory() as world:
            ((_, first), (_, second)) = await ask(
                world, [call("introspect.journal_head")], [call("introspect.state")]
            )
            lines = (await world.get("x")), (await world.archive.history("x")).lines
            for answer in (first, second):
                record = lines[1][answer["height"] - 1]
                assert answer["hash"] == digest_of(record.canonical())
            assert first["run"] == "x" and second["height"] > first["height"]
            states = [x.state for x in lines[1][: second["height"]] if isinstance(x, EventLine)]
            assert second["state"] == states[-1]

    async def test_exactly_as_it_was_whatever_came_after(self) -> None:
        async with World.in_memory() as world:
            exact = [call("introspect.state", exact=2), call("introspect.journal_head", exact=2)]
            answers = await ask(world, [call("double", number=1)], exact)
            assert [status for status, _ in answers] == ["ok", "ok"]
            members = {m["name"]: m.get("value") for m in answers[0][1]["members"]}
            assert (answers[0][1]["height"], members["turn"], members["phase"]) == (
                2,
                1,
                "generating",
            )
            assert answers[1][1]["last"]["type"] == "Generate"

    async def test_a_height_that_is_not_reached_is_an_error(self) -> None:
        async with World.in_memory() as world:
            answers = await ask(
                world,
                [
                    call("introspect.state", at_least=4),
                    call("introspect.state", at_least=900),
                    call("introspect.state", exact=900),
                    call("introspect.state", exact=1, at_least=1),
                ],
            )
            assert [status for status, _ in answers] == ["ok", "error", "error", "invalid"]
            assert "not yet at 900" in answers[1][1]["detail"]


@pytest.mark.req("introspect-manifest")
async def test_the_manifest_is_what_the_run_was_given() -> None:
    policy = Policy(rules=(Rule(decision="deny", tool="none"),))
    async with World.in_memory() as world:
        ((_, told),) = await ask(world, [call("introspect.manifest")], policy=policy)
        spec = (await world.get("x")).state.run_spec
    assert told["spec"] == spec.digest
    assert told["toolset"] == {"digest": spec.tools().digest, "count": 7}
    assert told["policy"]["digest"] == digest_of(policy.identity())
    assert told["policy"]["value"]["rules"][0]["tool"] == "none"
    assert told["limits"]["value"]["turns"] == spec.limits.turns
    assert told["facilities"]["value"]["introspect"] is True
    assert told["prompt"]["digest"] == digest_of(b"What are you?")
    assert "What are you?" not in json.dumps(told)
    tools = {t["name"]: t for t in told["tools"]}
    assert (tools["double"]["effect"], tools["introspect.state"]["risk"]) == ("pure", "info")


@pytest.mark.req("introspect-schemas")
async def test_schemas_are_told_with_their_digests() -> None:
    async with World.in_memory() as world:
        answers = await ask(
            world,
            [
                call("introspect.schemas"),
                call("introspect.schemas", tool="double"),
                call("introspect.schemas", tool="triple"),
            ],
        )
        toolset = (await world.get("x")).state.run_spec.tools()
    (_, all_), (_, one), (status, missing) = answers
    assert [t["name"] for t in all_["tools"]] == list(toolset.names)
    (told,) = one["tools"]
    definition = toolset.get("double")
    assert definition is not None
    assert told["input_schema"] == definition.input_schema
    assert told["digest"] == digest_of(canonical(definition.to_json()))
    assert status == "error" and "double" in missing["detail"]


MANIFEST = """
[tool]
name = "hello"
version = "1"
description = "Say hello."
[command]
exec = ["echo", "hello"]
"""


@pytest.mark.req("introspect-module")
async def test_what_decides_a_run_has_digests(tmp_path: Path) -> None:
    file = tmp_path / "hello.clad.toml"
    file.write_text(MANIFEST)
    asked = [call("introspect.module")]
    async with World.in_memory() as world:
        ((_, first),) = await ask(world, asked, tools=[tmp_path])
        ((_, again),) = await ask(world, asked, tools=[tmp_path], run_id="y")
        file.write_text(MANIFEST + "# changed\n")
        ((_, second),) = await ask(world, asked, tools=[tmp_path], run_id="z")
    assert first["release"]["began"] == first["release"]["here"]
    assert first["manifests"] == [{"file": str(file), "digest": digest_of(MANIFEST.encode())}]
    assert again["manifests"] == first["manifests"] != second["manifests"]
    assert first["package"] == second["package"] and first["package"]["files"] > 100
    assert first["provider"]["name"] == "scripted"
    assert "pydantic" in first["provider"]["libraries"]
    assert first["configuration"] == again["configuration"]


@pytest.mark.req("introspect-module")
def test_settings_have_a_digest_of_what_is_no_secret() -> None:
    def config(model: str, key: str) -> Config:
        server = McpServerConfig(command=("x",), env={"KEY": key})
        return Config(model=model, mcp=McpConfig(servers={"s": server}))

    assert config("a/b", "1").digest == config("a/b", "2").digest != config("a/c", "1").digest


PLACES = """
tools = ["tools"]
tools_keys = ["key.pub"]
local_model = "small.gguf"
host = { folder = ".", write = true }
policy.rules = [{ decision = "ask", origin = "command:./tools" }]
"""


@pytest.mark.req("introspect-module")
def test_the_same_settings_have_one_digest_wherever_the_project_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(name: str, settings: str) -> str:
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        (tmp_path / name / "artificer.toml").write_text(settings)
        return load_config(home=tmp_path / name / "home").digest

    here = digest("here", PLACES)
    assert digest("there", PLACES) == here
    assert digest("read", PLACES.replace("true", "false")) != here
    assert digest("other", PLACES.replace(":./tools", ":./others")) != here


@pytest.mark.req("introspect-state")
async def test_the_state_is_read_by_pointer() -> None:
    async with World.in_memory() as world:
        answers = await ask(
            world,
            [call("double", number=21)],
            [
                call("introspect.state"),
                call("introspect.state", pointer="/usage/input_tokens"),
                call("introspect.state", pointer="/history/2/blocks/0/content"),
                call("introspect.state", pointer="/history/99"),
                call("introspect.state", pointer="history"),
            ],
        )
    (_, whole), (_, tokens), (_, text), (missing, told), (wrong, _) = answers
    members = {m["name"]: m for m in whole["members"]}
    assert members["phase"]["value"] == "working"
    assert members["spec"]["kind"] == "object" and "value" not in members["spec"]
    assert tokens["value"] > 0
    assert text["text"] == "42"
    assert (missing, wrong) == ("error", "invalid")
    assert "nothing at '/history/99'" in told["detail"]


@pytest.mark.req("introspect-bounded")
class TestBounded:
    async def test_a_long_text_is_read_in_parts(self) -> None:
        where = "/history/2/blocks/0/content"
        async with World.in_memory() as world:
            answers = await ask(
                world,
                [call("long", count=30_000)],
                [call("introspect.state", pointer=where)],
                [call("introspect.state", pointer=where, cursor="20000")],
            )
        (_, first), (_, rest) = answers
        assert (len(first["text"]), first["next"], first["characters"]) == (20_000, "20000", 30_000)
        assert len(rest["text"]) == 10_000 and "next" not in rest

    async def test_pages_go_on_where_they_ended(self) -> None:
        async with World.in_memory() as world:
            answers = await ask(
                world,
                [call("introspect.manifest", limit=4)],
                [call("introspect.manifest", limit=4, cursor="introspect.schemas")],
                [call("introspect.manifest", cursor="nothing")],
                [call("introspect.journal_head", after=1, limit=3)],
                [call("introspect.journal_head", after=4, limit=100)],
            )
            names = (await world.get("x")).state.run_spec.tools().names
        first, rest = ([t["name"] for t in told["tools"]] for _, told in answers[:2])
        assert answers[0][1]["next"] == first[-1] == names[3]
        assert rest == list(names[names.index("introspect.schemas") + 1 :][:4])
        assert answers[2][0] == "error"
        assert [r["seq"] for r in answers[3][1]["records"]] == [2, 3, 4]
        assert answers[3][1]["next"] == "4"
        assert answers[4][1]["records"][0]["seq"] == 5


@pytest.mark.req("introspect-secrets")
async def test_no_secret_stands_in_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_TOKEN", 'tok"en-12345')
    monkeypatch.setenv("OPENAI_API_KEY", "sk-678901234")

    @tool(effect="pure")
    async def leak() -> str:
        """Tell what should not be told."""
        return "a" * 19_995 + "sk-678901234" + ' tok"en-12345'

    where = "/history/2/blocks/0/content"
    async with World.in_memory() as world:
        answers = await ask(
            world,
            [call("leak")],
            [
                call("introspect.state", pointer=where),
                call("introspect.state", pointer=where, cursor="19990"),
                call("introspect.state", pointer="/history/2/blocks/0"),
                call("introspect.state", pointer="/calls"),
            ],
            tools=[leak],
        )
    text = json.dumps([told for _, told in answers])
    for secret in ("sk-6789", "678901234", "en-12345"):
        assert secret not in text
    assert "[secret OPENAI_API_KEY]" in text and "[secret ARTIFICER_SECRET_TOKEN]" in text


@pytest.mark.req("introspect-gate")
class TestGate:
    async def test_it_is_offered_only_where_it_was_asked_for(self) -> None:
        async with World.in_memory() as world:
            provider = ScriptedProvider([reply(call("introspect.state")), say(".")])
            run = await world.run("Go.", Agent(model=provider, tools=[double], kind="chat"))
            assert [t["name"] for t in provider.requests[0]["tools"]] == ["double"]
            (results,) = [m for m in run.state.history if m.blocks[0].type == "tool_result"]
            assert results.blocks[0].status == "unknown_tool"

    async def test_it_is_judged_recorded_and_replayed(self) -> None:
        deny = Policy(rules=(Rule(decision="deny", tool="introspect.m*"),))
        async with World.in_memory() as world:
            calls = [
                call("introspect.module"),
                call("introspect.state"),
                call("introspect.state", x=1),
            ]
            answers = await ask(world, calls, policy=deny)
            assert [status for status, _ in answers] == ["denied", "ok", "invalid"]
            assert (await world.archive.replay("x")).identical

    async def test_a_run_sees_itself_and_no_other(self) -> None:
        async with World.in_memory() as world:
            await ask(world, [call("introspect.state")], run_id="one")
            ((_, told),) = await ask(world, [call("introspect.journal_head")], run_id="two")
            assert told["run"] == "two"
            tools = (await world.get("two")).state.run_spec.tools().tools
            assert all("run" not in t.input_schema.get("properties", {}) for t in tools)
