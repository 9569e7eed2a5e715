"""``artificer tick``: checklists in a terminal."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cli_kit import Shell

from artificer import Agent, World, load_config
from artificer.providers.scripted import ScriptedProvider, say

sys.path.insert(0, str(Path(__file__).parents[1] / "journals"))

from ticked_runs import TEXT, checklist

pytestmark = pytest.mark.req("ticks-shown")


@pytest.fixture
async def run(shell: Shell) -> AsyncIterator[str]:
    """A finished report with a checklist."""
    async with World.open(load_config(home=shell.home, project="test")) as world:
        model = ScriptedProvider([checklist(("a", "Alpha"), ("b", "Beta")), say(TEXT)])
        yield (await world.run("Go.", Agent(model))).id


async def test_items_are_listed_ticked_and_taken_back(shell: Shell, run: str) -> None:
    listed = await shell.run("tick", run)
    assert listed.out.splitlines()[0] == "todo: Release (0 of 2 done)"
    assert "  [ ] b: Beta" in listed.out
    done = await shell.run("tick", run, "todo", "b")
    assert (done.code, "  [x] b: Beta" in done.out) == (0, True)
    (stored,) = (await shell.run("tick", run, "todo", "--json")).json()
    assert [item["checked"] for item in stored["items"]] == [False, True]
    assert "tick" in (await shell.run("show", run)).out.lower()
    undone = await shell.run("tick", run, "todo", "b", "--undo")
    assert (undone.code, "  [ ] b: Beta" in undone.out) == (0, True)
    assert (await shell.run("verify")).code == 0


@pytest.mark.parametrize("words", [("other",), ("todo", "x"), ("other", "a")])
async def test_what_is_not_there_is_refused(shell: Shell, run: str, words: tuple[str, ...]) -> None:
    answer = await shell.run("tick", run, *words)
    assert answer.code != 0 and "no" in answer.err
