"""How often a model may repeat itself: what runs of a project are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer import Limits, World, tool
from artificer.agent import Agent
from artificer.config import load_config
from artificer.errors import ConfigError
from artificer.providers.scripted import ScriptedProvider, call, reply, say

pytestmark = pytest.mark.req("stuck-default")


@pytest.mark.parametrize(
    ("settings", "limits", "repeats"),
    [
        ("", None, 6),
        ("[budget]\nper_run_repeats = 4", None, 4),
        ("[budget]\nper_run_repeats = 0", None, None),
        ("", Limits(max_tokens=99), 6),
        ("", Limits(repeats=9), 9),
        ("[budget]\nper_run_repeats = 4", Limits(repeats=None), None),
    ],
)
async def test_the_limit_of_a_run(
    tmp_path: Path, settings: str, limits: Limits | None, repeats: int | None
) -> None:
    (tmp_path / "artificer.toml").write_text(settings, encoding="utf-8")
    async with World.in_memory(load_config(tmp_path)) as world:
        run = await world.run(
            "Hi.", Agent(model=ScriptedProvider([say("Hi.")]), limits=limits, kind="chat")
        )
        assert run.state.run_spec.limits.repeats == repeats


@pytest.mark.parametrize("value", ["1", "2", "-1", "true", '"no"', "6.5"])
def test_a_limit_that_means_nothing_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "artificer.toml").write_text(
        f"[budget]\nper_run_repeats = {value}", encoding="utf-8"
    )
    with pytest.raises(ConfigError, match="repeats"):
        load_config(tmp_path)


async def test_a_run_that_repeats_itself_is_partial_and_says_why() -> None:
    @tool(effect="pure")
    def look() -> str:
        """Look."""
        return "Nothing."

    async with World.in_memory() as world:
        model = ScriptedProvider(lambda body: reply(call("look")))
        run = await world.run("Go.", Agent(model=model, tools=[look], kind="chat"))
    assert (run.status, run.state.reason, run.state.turn) == ("failed", "stuck", 6)
    assert run.deliverable is not None and "look {}" in run.deliverable.note


@pytest.mark.req("stuck")
async def test_a_fork_begins_a_new_count() -> None:
    @tool(effect="pure")
    def look() -> str:
        """Look."""
        return "Nothing."

    model = ScriptedProvider(lambda body: reply(call("look")))
    async with World.in_memory() as world:
        run = await world.run("Go.", Agent(model=model, tools=[look], kind="chat"))
        asked = len(model.requests)
        fork = await world.fork(run.id, agent=Agent(model=model, tools=[look], kind="chat"))
        assert (fork.state.reason, len(model.requests) - asked) == ("stuck", 6)
        assert (await world.archive.replay(fork.id)).identical
