"""Listing runs on the command line, with filters."""

from __future__ import annotations

from typing import get_args

import pytest
from cli_kit import Shell

from artificer import Agent, World, load_config, tool
from artificer.artifacts.ref import DeliverableStatus
from artificer.cli.commands.inspect import STATUSES
from artificer.core.policy import Policy, Rule
from artificer.providers.scripted import ScriptedProvider, call, reply, say

pytestmark = pytest.mark.req("cli-runs-filters")

HOSTILE = "\x1b[31m\u202eexe.gpj\nred 1 completed"


@tool
def pay(euros: int) -> str:
    """Pay somebody."""
    return f"Paid {euros}."


async def filled(shell: Shell) -> None:
    async with World.open(load_config(home=shell.home, project="test")) as world:
        for name in ("a-1", "b-2"):
            agent = Agent(ScriptedProvider([say("Fine.")]), kind="chat")
            await agent.run(f"A green lamp {HOSTILE}", world=world, run_id=name)
        asks = Policy(rules=(Rule(decision="ask", tool="pay"),))
        script = ScriptedProvider([reply(call("pay", euros=9))])
        payer = Agent(script, kind="chat", tools=[pay], policy=asks)
        await payer.run("Pay for it.", world=world, run_id="c-3")


async def test_filters_and_pages(shell: Shell) -> None:
    await filled(shell)
    shown = await shell.run("runs", "--text", "LAMP*", "--status", "completed")
    rows = shown.out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["a-1", "b-2"]
    assert "\x1b" not in shown.out and "\u202e" not in shown.out
    (waiting,) = (await shell.run("runs", "--waiting", "--json")).json()
    assert (waiting["run"], waiting["questions"], waiting["turns"]) == ("c-3", 1, 1)
    first = await shell.run("runs", "--model", "scripted", "--limit", "2")
    assert "--before b-2" in first.err
    (older,) = (await shell.run("runs", "--kind", "chat", "--before", "b-2", "--json")).json()
    assert older["run"] == "a-1"
    for before in ("b-2", "b"):
        assert (await shell.run("runs", "--before", before)).out.splitlines()[1].startswith("a-1")
    unknown = await shell.run("runs", "--before", "x-9")
    assert (unknown.code, unknown.err.splitlines()[0]) == (3, "error: No run matches 'x-9'.")
    for nothing in (["--since", "2999-01-01"], ["--agent", "x"], ["--until", "2001-01-01"]):
        assert (await shell.run("runs", *nothing)).err == "No such runs.\n"
    assert (shell.world / "runs.db").exists()


async def test_an_index_that_cannot_be_used_is_reported_once(
    shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    await filled(shell)
    (shell.world / "runs.db").mkdir()
    listed = await shell.run("runs", "--status", "completed")
    assert (listed.code, len(listed.out.splitlines())) == (0, 3)
    assert caplog.text.count("the index of runs is not used") == 1


async def test_a_world_that_is_not_there_is_not_made(shell: Shell) -> None:
    assert (await shell.run("runs", "--waiting")).err == "No such runs.\n"
    assert not shell.home.exists()


def test_the_statuses_are_those_of_runs() -> None:
    assert set(get_args(DeliverableStatus)) < set(STATUSES)
