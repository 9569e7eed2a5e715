"""Searching runs on the command line."""

from __future__ import annotations

import pytest
from cli_kit import Shell

from artificer import Agent, World, load_config
from artificer.cli.commands.inspect import RUN_KINDS
from artificer.core.kinds import KINDS
from artificer.providers.scripted import ScriptedProvider, say

pytestmark = pytest.mark.req("cli-search")


async def talk(shell: Shell, prompt: str, reply: str) -> str:
    async with World.open(load_config(home=shell.home, project="test")) as world:
        run = await world.run(prompt, Agent(model=ScriptedProvider([say(reply)]), kind="chat"))
    return run.id


async def test_hits_are_shown_with_run_time_and_role(shell: Shell) -> None:
    first = await talk(shell, "Where is the lamp?", "In the\n\x1b[31m kitchen.")
    second = await talk(shell, "A green lamp!", "Fine.")
    found = await shell.run("search", "LAMP")
    assert found.code == 0
    heads, snippets = found.out.splitlines()[::2], found.out.splitlines()[1::2]
    assert [line.split()[0] for line in heads] == [second, first]
    assert heads[0].endswith("prompt (record 1)")
    assert snippets == ["  A green lamp!", "  Where is the lamp?"]
    assert "\x1b" not in (await shell.run("search", "kitchen")).out
    (hit,) = (await shell.run("search", '"green la"*', "--json", "--kind", "chat")).json()
    assert (hit["run"], hit["role"], hit["marks"]) == (second, "prompt", [[2, 12]])
    assert "older hits" in (await shell.run("search", "lamp", "--limit", "1")).err
    assert (await shell.run("search", "lamp", "--since", "2999-01-01")).err == "Nothing found.\n"
    assert (await shell.run("search", "*")).err == "No word to search for.\n"
    assert (shell.world / "search.db").exists()


async def test_where_the_index_cannot_be_written_the_records_are_read(shell: Shell) -> None:
    run = await talk(shell, "Where is the lamp?", "There.")
    (shell.world / "search.db").mkdir()
    assert (await shell.run("search", "lamp")).out.startswith(run)


async def test_a_world_that_is_not_there_is_not_made(shell: Shell) -> None:
    assert (await shell.run("search", "lamp")).err == "Nothing found.\n"
    assert not shell.home.exists()


def test_the_kinds_are_those_of_runs() -> None:
    assert set(RUN_KINDS) == set(KINDS)
