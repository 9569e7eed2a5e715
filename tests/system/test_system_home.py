"""A process whose user the machine does not know, and which has no HOME."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from artificer.agent import Agent
from artificer.backends.sandbox.rules import paths
from artificer.backends.sandbox.settings import SandboxConfig
from artificer.config import Config
from artificer.errors import ConfigError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.builds.detect import detect
from artificer.wiring.build_sandbox import grants_of_build
from artificer.world import World

pytestmark = pytest.mark.req("user-without-home")

TOOLS = Path(__file__).parents[2] / "examples/tools"


@pytest.fixture(autouse=True)
def only_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> pwd.struct_passwd:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_the_home_has_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^~/\.artificer cannot be found") as caught:
        Config().placed()
    assert "$ARTIFICER_HOME" in (caught.value.hint or "")
    assert Config(home=tmp_path).placed().home == tmp_path


async def test_a_world_in_memory_needs_none() -> None:
    async with World.in_memory() as world:
        run = await world.run("Hi.", Agent(ScriptedProvider([say("Hello.")])))
    assert (run.status, run.text) == ("completed", "Hello.")


async def test_a_tool_runs_in_a_sandbox(tmp_path: Path) -> None:
    config = Config(home=tmp_path, sandbox=SandboxConfig(mode="auto"))
    model = ScriptedProvider([reply(call("list_folder")), say("It is listed.")])
    async with World.in_memory(config, providers=[model], tools=[TOOLS]) as world:
        run = await world.run("List it.", Agent("scripted/m"))
    assert run.status == "completed"
    assert "success" in str(model.requests[1]["messages"][-1])


def test_the_programs_of_a_build_have_an_environment(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert grants_of_build(Config(home=tmp_path)).mode == "auto"
    assert detect(tmp_path).environment({"PATH": "/usr/bin"}, tmp_path)["PATH"]


def test_a_folder_of_an_unknown_user_is_one_that_is_not_there(tmp_path: Path) -> None:
    assert paths(["~/.cache", "data"], tmp_path) == (tmp_path / "~/.cache", tmp_path / "data")
