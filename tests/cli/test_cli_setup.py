"""``init``, ``models`` and ``completion``: the first minutes with the command line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Shell
from http_support import answer, serving
from strict_server import Calls, Fails, Says, StrictServer, Turn

from artificer import cli, prices
from artificer.cli.setup.settings_file import TEMPLATE
from artificer.config import load_config
from artificer.system.files import packaged
from artificer.wiring.provider_findings import SUGGESTED

KEY = {"ANTHROPIC_API_KEY": "sk-ant-not-a-key"}


@pytest.mark.req("cli-init")
async def test_init_writes_a_file_that_can_be_read(shell: Shell) -> None:
    written = await shell.run("init", env=KEY)
    again = await shell.run("init", "--model", "openai/gpt-5")
    assert written.code == 0, written.err
    assert written.out == f"{shell.cwd / 'artificer.toml'}\n"
    assert load_config(shell.cwd).model == "anthropic/claude-sonnet-5-5"
    assert again.code == 3
    assert "exists" in again.err


@pytest.mark.req("cli-init")
def test_every_comment_of_the_file_is_a_setting_that_exists(tmp_path: Path) -> None:
    lines = packaged(cli, TEMPLATE).splitlines()
    settings = [line.removeprefix("# ") for line in lines if _is_setting(line)]
    assert len(settings) > 25
    (tmp_path / "artificer.toml").write_text("\n".join(settings), encoding="utf-8")
    assert tomllib.loads("\n".join(settings))["host"] == {"folder": ".", "write": False}
    assert load_config(tmp_path).providers["mine"].api_key_env == "MY_API_KEY"


def _is_setting(line: str) -> bool:
    word = line.removeprefix("# ").partition(" ")
    return line.startswith("# [") or (line.startswith("# ") and word[2].startswith("= "))


@pytest.mark.req("cli-models")
async def test_models_shows_which_keys_are_missing(shell: Shell) -> None:
    own = 'model = "own/m"\n[providers.own]\nbase_url = "http://127.0.0.1:9"\napi_key_env = "OWN"\n'
    (shell.cwd / "artificer.toml").write_text(own, encoding="utf-8")
    table = await shell.run("models", env={"OPENAI_API_KEY": "sk-secret-not-shown"})
    rows = {line.split()[0]: line.split()[1] for line in table.out.splitlines()}
    expected = {"anthropic": "-", "openai": "yes", "groq": "-", "local": "-", "own": "no"}
    assert {name: rows[name] for name in expected} == expected
    assert "export OWN=…" in table.out
    assert "default: own/m" in table.err
    assert "sk-secret" not in table.out
    listed = (await shell.run("models", "--json")).json()
    assert listed["default"] == "own/m"
    by_name = {provider["name"]: provider for provider in listed["providers"]}
    assert by_name["own"]["models"] == ["own/m"]
    assert by_name["openai"]["key"] == "OPENAI_API_KEY"


@pytest.mark.req("cli-models-local")
async def test_servers_of_this_machine_are_asked_for_their_models(shell: Shell) -> None:
    listed = json.dumps({"data": [{"id": "llama3.2"}, {"id": "\x1b[2Jevil"}, {"id": 3}]})
    with serving(answer(body=listed)) as server, serving(answer(500)) as busy:
        own = f'[providers.busy]\nbase_url = "{busy.url}/v1"\n'
        own += '[providers.off]\nbase_url = "http://127.0.0.1:1/v1"\n'
        own += '[providers.far]\nbase_url = "http://192.0.2.1/v1"\n'
        (shell.cwd / "artificer.toml").write_text(own, encoding="utf-8")
        env = {"OLLAMA_HOST": server.url, "OPENAI_API_KEY": "sk-not-for-it"}
        found = (await shell.run("models", "--json", env=env)).json()["providers"]
        table = (await shell.run("models", env=env)).out
        checks = (await shell.run("doctor", env=env)).out
    by_name = {provider["name"]: provider for provider in found}
    assert by_name["ollama"]["models"] == ["ollama/llama3.2"]
    ready = {name: by_name[name]["ok"] for name in ("ollama", "busy", "off", "far")}
    assert ready == {"ollama": True, "busy": True, "off": None, "far": True}
    rows = {line.split()[0]: line for line in table.splitlines()}
    assert "yes" in rows["ollama"] and "ollama/llama3.2" in rows["ollama"]
    assert "nothing answers there" in rows["off"] and "not checked" in rows["far"]
    assert f"{server.url}/v1 answers: 1 model" in checks
    assert {(seen.method, seen.target) for seen in server.seen} == {("GET", "/v1/models")}
    assert not any("Authorization" in seen.headers for seen in server.seen)


@pytest.mark.req("cli-models")
async def test_each_model_that_is_named_has_the_name_that_its_server_knows(shell: Shell) -> None:
    listed = (await shell.run("models", "--json")).json()
    named = [model for provider in listed["providers"] for model in provider["models"]]
    assert "gemini/gemini-2.5-flash" in named and "groq/openai/gpt-oss-120b" in named
    ours = {row.model for row in prices.table()} | set(SUGGESTED)
    assert set(named) <= ours, "the names of families are no models"


async def completed(shell: Shell, *words: str) -> list[str]:
    """The words that bash offers for the last of these."""
    result = await shell.run_process(
        env={
            "_ARTIFICER_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("artificer", *words)),
            "COMP_CWORD": str(len(words)),
        }
    )
    assert result.code == 0, result.err
    return [line.partition(",")[2] for line in result.out.split()]


@pytest.mark.req("cli-completion")
async def test_ids_models_and_tools_are_completed(shell: Shell) -> None:
    async with StrictServer(Says("Good morning.")) as server:
        shell.configure(server.url)
        run = (await shell.run("run", "--kind", "chat", "--json", "Hi")).json()["run"]
        shell.configure(server.url, 'tools = ["tools"]\n')
    tools = shell.cwd / "tools"
    tools.mkdir()
    (tools / "a.clad.toml").write_text('[tool]\nname = "greet"\n', encoding="utf-8")
    (tools / "broken.clad.toml").write_text("[", encoding="utf-8")
    assert await completed(shell, "show", "") == ["last", run]
    assert await completed(shell, "resume", run[:4]) == [run]
    assert await completed(shell, "run", "--model", "double") == ["double/m", "double/"]
    assert "anthropic/claude-opus-4-5" in await completed(shell, "run", "--model", "anthropic/")
    assert await completed(shell, "policy", "explain", "") == ["greet"]
    assert await completed(shell, "tools", "show", "tools", "g") == ["greet"]
    assert await completed(shell, "comp") == ["completion"]


@pytest.mark.req("cli-completion")
async def test_an_error_completes_nothing(shell: Shell) -> None:
    (shell.cwd / "artificer.toml").write_text("unknown = 1\n", encoding="utf-8")
    assert await completed(shell, "show", "") == []


@pytest.mark.req("cli-completion")
@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
async def test_each_shell_has_its_script(shell: Shell, name: str) -> None:
    result = await shell.run("completion", name)
    assert result.code == 0
    assert f"_ARTIFICER_COMPLETE={name}_complete" in result.out


AGENT = """
import artificer

@artificer.tool(effect="pure")
def shout(word: str) -> str:
    "Shout a word."
    return word.upper()

agent = artificer.Agent("double/other", kind="chat", instructions="Shout.", tools=[shout])
number = 7
"""


@pytest.mark.req("cli-agent")
async def test_an_importable_agent_is_run_and_continued(shell: Shell) -> None:
    (shell.cwd / "loud_agents.py").write_text(AGENT, encoding="utf-8")
    async with StrictServer(Says("HI."), Says("BYE."), Says("HO.")) as server:
        shell.configure(server.url)
        words = ("run", "--agent", "loud_agents:agent", "Say hi", "--json")
        first = await shell.run_process(*words)
        outcome = first.json()
        again = await shell.run_process(
            "follow-up", "--agent", "loud_agents:agent", outcome["run"], "And bye"
        )
        forked = await shell.run_process(
            "fork", "--agent", "loud_agents:agent", outcome["run"], "--steer", "Say ho"
        )
        body = server.seen[0].body
        assert server.seen[2].body["messages"][0] == body["messages"][0]
    assert (outcome["kind"], outcome["model"]) == ("chat", "double/other")
    assert [tool["function"]["name"] for tool in body["tools"]] == ["shout"]
    assert body["messages"][0]["content"] == "Shout."
    assert (again.out, forked.out) == ("BYE.\n", "HO.\n")


HANGS = """
import time, artificer

@artificer.tool(effect="once", timeout=0.3)
def pay(cents: int) -> str:
    "Pay."
    time.sleep(600)
    return "paid"

agent = artificer.Agent("double/m", kind="chat", tools=[pay])
"""


COUNTS = """
import artificer

class Till:
    paid = 0

@artificer.tool(effect="pure")
def total(ctx: artificer.RunContext[Till]) -> int:
    "Return what was paid."
    return ctx.deps.paid

agent = artificer.Agent("double/m", kind="chat", tools=[total], deps_factory=Till)
"""


@pytest.mark.req("agent-deps-factory")
async def test_a_command_resumes_a_run_whose_agent_makes_its_dependencies(shell: Shell) -> None:
    (shell.cwd / "tills.py").write_text(COUNTS, encoding="utf-8")
    agent = ("--agent", "tills:agent")
    async with StrictServer(Fails(404), Calls(("total", "{}")), Says("Nothing.")) as server:
        shell.configure(server.url)
        stalled = await shell.run_process("run", *agent, "How much?")
        resumed = await shell.run_process("resume", "last", *agent)
    assert stalled.code == 6, stalled.err
    assert (resumed.code, resumed.out) == (0, "Nothing.\n"), resumed.err


@pytest.mark.req("run-resolve-ended")
async def test_an_uncertain_call_of_a_run_that_has_ended_is_resolved(shell: Shell) -> None:
    (shell.cwd / "payers.py").write_text(HANGS, encoding="utf-8")
    agent = ("--agent", "payers:agent")
    async with StrictServer(
        Calls(("pay", '{"cents": 5}')), Says("Unclear."), Says("It was paid.")
    ) as server:
        shell.configure(server.url)
        ended = await shell.run_process("run", *agent, "Pay.", "--json")
        assert ended.json()["status"] == "completed", ended.err
        explained = (await shell.run("explain", "last")).out
        assert "artificer resolve" in explained
        told = await shell.run("resolve", "last", "--happened", "--reason", "I saw it.")
        assert told.code == 0 and "artificer resume" in told.err, told.err
        again = await shell.run("resolve", "last", "--happened")
        assert again.code == 0 and "has this answer already" in again.err, again.err
        other = await shell.run("resolve", "last", "--did-not-happen")
        assert other.code == 1 and "already: executed, from " in other.err, other.err
        assert "artificer follow-up" in other.err and "artificer cancel" not in other.err
        resumed = await shell.run_process("resume", "last", *agent)
        assert (resumed.code, resumed.out) == (0, "Unclear.\n"), resumed.err
        assert "no call is uncertain" in (await shell.run("resolve", "last")).err
        assert "artificer resolve" not in (await shell.run("explain", "last")).out
        asked = await shell.run_process("follow-up", "last", *agent, "Was it paid?")
        assert asked.out == "It was paid.\n", asked.err
        assert "it had happened. I saw it." in str(server.seen[-1].body)
        assert (await shell.run("replay", "last")).out.startswith("identical")


@pytest.mark.req("cli-agent")
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("loud_agents", "write it as module:name"),
        ("nowhere_at_all:agent", "there is no module 'nowhere_at_all'"),
        ("loud_agents:agnet", "Its agents: agent."),
        ("loud_agents:number", "this is int, not Agent"),
    ],
)
async def test_what_is_no_agent_is_refused(shell: Shell, place: str, why: str) -> None:
    (shell.cwd / "loud_agents.py").write_text(AGENT, encoding="utf-8")
    result = await shell.run_process("run", "--agent", place, "Hi")
    assert result.code == 2
    assert why in result.err
    assert "Traceback" not in result.err


@pytest.mark.req("fallback-models")
@pytest.mark.req("fallback-events")
async def test_a_list_of_models_on_the_command_line(shell: Shell) -> None:
    def answers(body: dict[str, Any]) -> Turn:
        return Fails(404) if body["model"] == "gone" else Says("Hello.")

    async with StrictServer(answer=answers) as server:
        key = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        names = ("--model", "openai-chat/gone", "--model", "openai-chat/here")
        ran = await shell.run("run", "--kind", "chat", "Hi.", *names, "--json", env=key)
        assert ran.code == 0, ran.err
        assert "openai-chat/here takes over from openai-chat/gone" in ran.err
        assert ran.err.index("failed: ") < ran.err.index("takes over")
        told = ran.json()
        assert (told["model"], told["failure"]) == ("openai-chat/here", None)
        assert told["failed_models"] == [
            {"model": "openai-chat/gone", "code": "not_found", "turn": 1}
        ]
        shown = await shell.run("show", "last")
        assert "openai-chat/here, instead of openai-chat/gone (not_found, turn 1)" in shown.out
        assert (await shell.run("replay", "last")).out.startswith("identical")
        assert (await shell.run("verify")).code == 0
        forked = await shell.run(
            *("fork", "last", "--model", "openai-chat/new", "--steer", "More.", "--json"), env=key
        )
        assert (forked.code, forked.json()["model"]) == (0, "openai-chat/new"), forked.err
    named = 'model = ["openai-chat/gone", "anthropic/claude-opus-4-5"]'
    (shell.cwd / "artificer.toml").write_text(named, encoding="utf-8")
    refused = await shell.run("run", "Hi.", env={"OPENAI_API_KEY": "k"})
    assert refused.code == 3 and "ANTHROPIC_API_KEY" in refused.err
    listed = (await shell.run("models", "--json")).json()
    assert listed["fallbacks"] == ["anthropic/claude-opus-4-5"]
