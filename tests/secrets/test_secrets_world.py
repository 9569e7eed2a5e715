"""The secrets of a world: resolved where a run is executed, said before it begins, kept nowhere."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from vault_twin import TOKEN, VaultTwin, vault_twin

from artificer import Agent, Config, World, load_config
from artificer.cli.main import cli
from artificer.errors import ArtificerError, AuthorError, ConfigError
from artificer.providers.scripted import ScriptedProvider, call, reply, say

KEY = "-----BEGIN KEY-----\nMIIBVgIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----"
VALUE = "tr-51Hq8Zr7Tn3V/b+Kd2"
SHOW = "import os, sys; print(os.environ['TOKEN']); print(sys.argv[1]); sys.exit(int(sys.argv[2]))"
TOOL = f"""
[tool]
name = "deploy"
version = "1"
description = "Deploy."
human_approval = false
[args.text]
required = true
[args.code]
type = "integer"
required = true
[command]
exec = [{json.dumps(sys.executable)}, "-c", {json.dumps(SHOW)}, "{{text}}", "{{code}}"]
env.TOKEN = "{{_secret:NAME}}"
"""
CHAT: Any = {"kind": "chat"}
CODES = (0, 3)


@pytest.fixture(scope="module")
def server() -> Iterator[VaultTwin]:
    """A vault for all tests; each has a secret of its own, because a process keeps answers."""
    with vault_twin() as twin:
        twin.secrets = {f"vault_key_{code}": f"{KEY}\nvault{code}" for code in CODES}
        yield twin


def tools_of(folder: Path, name: str) -> Path:
    """A folder with a tool that needs the secret of this name."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "deploy.clad.toml").write_text(TOOL.replace("NAME", name))
    return tools


def deploying(*, code: int = 0) -> ScriptedProvider:
    """A model that deploys once."""
    return ScriptedProvider([reply(call("deploy", text="x", code=code)), say("Done.")])


def everything_below(folder: Path) -> str:
    """The rows of every database and the bytes of every other file."""
    found = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    for file in folder.rglob("*.db"):
        with sqlite3.connect(file) as database:
            found.append("\n".join(database.iterdump()).encode("utf-8", "replace"))
        database.close()
    return b"".join(found).decode("utf-8", "replace")


async def records_of(world: World, run: str) -> str:
    """The text of a run's records."""
    return "".join(str(record.body) for record in await world.storage.journal.read(run))


class Shelf:
    """A source of a program."""

    local = True

    def __init__(self, **values: str) -> None:
        self._values = values

    def resolve(self, name: str) -> str | None:
        return self._values.get(name)

    def place(self, name: str) -> str:
        return f"shelf/{name}"

    def at_hand(self) -> Mapping[str, str]:
        return {}


@pytest.mark.req("secret-resolved")
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("place", ["files", "vault", "shelf"])
async def test_a_resolved_secret_is_used_and_kept_nowhere(
    place: str,
    code: int,
    server: VaultTwin,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not in the journal, blobs, logs, errors or the report, also where a tool or a model says it.

    A reference that the model writes is text.
    """
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("VAULT_TOKEN", TOKEN)
    name, value = f"{place}_key_{code}", f"{KEY}\n{place}{code}"
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / name).write_text(value)
    sources = {"files": (f"files:{folder}",), "vault": (f"vault:{server.url}",), "shelf": ()}
    parts: Any = {"secrets": [Shelf(**{name: value})]} if place == "shelf" else {}
    home = tmp_path / "home"
    config = Config(home=home, tools=(tools_of(tmp_path, name),), secrets=sources[place])
    said = [reply(call("deploy", text="{_secret:other}", code=code)), say(f"It is {value}")]
    async with World.open(config, **parts) as world:
        run = await world.run("Deploy.", Agent(ScriptedProvider(said), **CHAT))
        assert run.status == "completed", run
        shown = repr(run) + run.text + await records_of(world, run.id)
    assert f"[secret {name}]" in run.text
    written = everything_below(home) + shown + caplog.text
    assert "{_secret:other}" in written, "the model's word is no reference"
    assert re.search(rf"exit_code\W+{code}\b", written)
    for secret in (value, json.dumps(value)[1:-1], "MIIBVgIBADANBgkq", TOKEN):
        assert secret not in written


@pytest.mark.req("secret-before")
class TestBefore:
    async def test_a_missing_secret_is_said_before_the_run_begins(self, tmp_path: Path) -> None:
        """With the tool, the reference, and each place where it was looked for."""
        folder = tmp_path / "secrets"
        sources = ("env", f"files:{folder}")
        config = Config(tools=(tools_of(tmp_path, "gone_1"),), secrets=sources)
        async with World.in_memory(config, providers=[deploying()]) as world:
            with pytest.raises(ConfigError) as caught:
                await world.run("Deploy.", Agent("scripted/m", **CHAT))
            assert await world.archive.runs() == []
        assert caught.value.message == (
            "The tool 'deploy' needs the secret 'gone_1': the secret 'gone_1' is not set; looked "
            f"for: ARTIFICER_SECRET_GONE_1, {folder}/gone_1."
        )

    async def test_a_vault_that_refuses_is_said_before_too(
        self, server: VaultTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("VAULT_TOKEN", "hvs.another")
        tools = (tools_of(tmp_path, "gone_2"),)
        config = Config(tools=tools, secrets=(f"vault:{server.url}2",))
        async with World.in_memory(config, providers=[deploying()]) as world:
            with pytest.raises(ConfigError, match="the token is not valid"):
                await world.run("Deploy.", Agent("scripted/m", **CHAT))

    async def test_a_tool_that_is_left_out_needs_nothing(self, tmp_path: Path) -> None:
        config = Config(tools=(tools_of(tmp_path, "gone_3"),))
        async with World.in_memory(config, providers=[ScriptedProvider([say("Hi.")])]) as world:
            run = await world.run("Hi", Agent("scripted/m", only=(), **CHAT))
        assert run.text == "Hi."

    async def test_a_submitted_run_needs_its_secrets_where_it_is_executed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever submits it has none, and a worker without them leaves it to others."""
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        config = Config(tools=(tools_of(tmp_path, "gone_4"),))
        async with World.in_memory(config, providers=[deploying()]) as world:
            run = await world.submit("Deploy.", Agent("scripted/m", **CHAT))
            await world.submit("Hi.", Agent("anthropic/claude-sonnet-5-5", only=(), **CHAT))
            with pytest.raises(ConfigError, match="ARTIFICER_SECRET_GONE_4 is not set"):
                await world.resume(run)
            monkeypatch.setenv("ARTIFICER_SECRET_GONE_4", VALUE)
            assert (await world.resume(run)).status == "completed"

    async def test_a_run_that_has_begun_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A secret that is gone since is an error of the call that needs it."""
        shelf = Shelf(gone_5=VALUE)

        class Losing(ScriptedProvider):
            async def generate(self, *arguments: Any) -> Any:
                shelf._values.clear()
                return await super().generate(*arguments)

        script = [reply(call("deploy", text="x", code=0)), say("Done.")]
        config = Config(tools=(tools_of(tmp_path, "gone_5"),), secrets=())
        parts: Any = {"providers": [Losing(script)], "secrets": [shelf]}
        async with World.in_memory(config, **parts) as world:
            run = await world.run("Deploy.", Agent("scripted/m", **CHAT))
            assert "not run: shelf/gone_5 is not set" in await records_of(world, run.id)


@pytest.mark.req("secret-sources")
class TestWorld:
    async def test_the_sources_of_a_program_come_first(self, tmp_path: Path) -> None:
        folder = tmp_path / "secrets"
        folder.mkdir()
        (folder / "key_6").write_text("of-the-file-6")
        config = Config(tools=(tools_of(tmp_path, "key_6"),), secrets=(f"files:{folder}",))
        script = [reply(call("deploy", text="x", code=0)), say("of-the-file-6 of-the-shelf-6")]
        shelf = Shelf(key_6="of-the-shelf-6")
        parts: Any = {"providers": [ScriptedProvider(script)], "secrets": [shelf]}
        async with World.in_memory(config, **parts) as world:
            run = await world.run("Deploy.", Agent("scripted/m", **CHAT))
        assert run.text == "[secret key_6] [secret key_6]", "both are secrets"

    @pytest.mark.parametrize("wrong", ["env", ["env"], [object()]])
    def test_what_is_no_source_is_refused(self, wrong: Any) -> None:
        with pytest.raises(AuthorError, match="not a source of secrets"):
            World.in_memory(secrets=wrong)

    async def test_the_key_of_a_provider_comes_from_the_sources(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And from nowhere else: the environment is asked where the setting names it."""
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-environment")
        async with World.in_memory(Config(secrets=(f"files:{tmp_path}",))) as world:
            provider: Any = world._resources.providers.get("anthropic")
            for _ in range(2):
                with pytest.raises(ArtificerError, match=f"{tmp_path}/ANTHROPIC_API_KEY is not"):
                    provider.require()
            (tmp_path / "anthropic_api_key").write_text("sk-ant-of-the-file\n")
            provider.require()
            await provider.require_key()

    def test_the_setting_is_a_list_that_is_checked(self, tmp_path: Path) -> None:
        file = tmp_path / "artificer.toml"
        file.write_text('secrets = ["env", "files:/run/secrets"]\n')
        assert load_config(tmp_path).secrets == ("env", "files:/run/secrets")
        for wrong in ('"env"', "[7]", '[""]'):
            file.write_text(f"secrets = {wrong}\n")
            with pytest.raises(ConfigError, match="secrets"):
                load_config(tmp_path)
        with pytest.raises(ConfigError, match="Unknown source of secrets: 'volt'"):
            World.in_memory(Config(secrets=("volt:x",)))


@pytest.mark.req("secret-sources")
def test_doctor_says_which_source_answers(
    server: VaultTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARTIFICER_HOME", str(tmp_path / "home"))
    places = ["env", f"files:{tmp_path}", f"vault:{server.url}", "vault:https://h", "volt:x"]
    (tmp_path / "artificer.toml").write_text(f"secrets = {json.dumps(places)}\n")
    found = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).output)
    secrets = [(d["what"], d["ok"], d["detail"]) for d in found if d["what"].startswith("secrets")]
    assert secrets == [
        ("secrets env", True, "ARTIFICER_SECRET_NAME"),
        ("secrets files", True, f"{tmp_path}/NAME"),
        ("secrets vault", True, f"{server.url}#NAME"),
        ("secrets vault", False, "The source of secrets 'vault' has no usable address."),
        ("secrets volt", False, "Unknown source of secrets: 'volt'. Known: env, files, vault."),
    ]
