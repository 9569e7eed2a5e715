"""Two runs side by side, and the runs below a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from git_project import project
from parts import ONE, PROJECT
from site_of_builds import site
from studio_kit import Studio, entered, expect, serving

from artificer.agent import Agent
from artificer.providers.scripted import ScriptedProvider, say
from artificer.world import World
from test_family import three_generations

EVIL = "\u202egnp<script>alert(1)</script>"


async def two(world: World) -> None:
    for run, words in (
        ("a", "The sea is wide.\n\nIt is blue."),
        ("b", f"The sea is wide.\n\n{EVIL}"),
    ):
        agent = Agent(ScriptedProvider([say(words * 2)]), kind="chat")
        await world.run("Tell of the sea.", agent, run_id=run)


@pytest.mark.browser
@pytest.mark.req("studio-compare")
async def test_two_runs_side_by_side(served: Studio, page: Any) -> None:
    await two(served.world)
    await entered(page, served)
    await page.goto(f"{served.url}/runs/a")
    await page.get_by_role("link", name="Compare").click()
    await page.get_by_role("link", name="Tell of the sea.").click()
    await page.get_by_role("heading", name="Two runs side by side").wait_for()
    await expect(page.locator("del").first).to_contain_text("It is blue.")
    await expect(page.locator("ins").first).to_contain_text("<script>alert(1)")
    await page.get_by_role("link", name="record 3 of B").click()
    await expect(page.get_by_role("heading", name="ModelResponded event")).to_be_visible()


@pytest.mark.req("studio-compare")
async def test_what_cannot_be_compared_is_refused(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await two(served.world)
    assert "Both runs are the same." in (await client.get("/compare?run=a&run=a")).text
    for wrong in ("", "?run=a", "?run=a&run=", "?run=a&run=nowhere", "?run=a&run=../x"):
        assert (await client.get(f"/compare{wrong}")).status_code == 404
    text = (await client.get("/compare?run=a&run=b")).text
    assert "<script>alert" not in text and "\u202e" not in text


@pytest.mark.browser
@pytest.mark.req("studio-tree")
async def test_a_build_shows_its_runs_their_checks_and_changes(tmp_path: Path, page: Any) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, ONE) as place, serving(place.world) as studio:
        assert (await place.build()).status == "completed"
        await entered(page, studio)
        await page.goto(f"{studio.url}/runs/b")
        await page.get_by_role("link", name="Tree").click()
        await expect(page.get_by_role("link", name="code/left/one").first).to_be_visible()
        await expect(page.get_by_text("passed", exact=True)).to_have_count(3)
        await (
            page.locator("h2:has-text('Changes') + ul")
            .get_by_role("link", name="code/left/one")
            .click()
        )
        await expect(page.locator("ins")).to_have_text(["left"])
        await page.get_by_role("link", name="Back to the tree").click()
        await page.get_by_role("link", name="Everything merged").click()
        await expect(page.locator("ins")).to_have_count(3)
        for wrong in ("1", "99999", "x", "-1", "--output=x", "1" * 5_000):
            answer = await page.request.get(f"{studio.url}/runs/b/tree/{wrong}")
            assert answer.status == 404


@pytest.mark.req("studio-tree")
async def test_runs_of_agents_are_a_tree(served: Studio, client: httpx.AsyncClient) -> None:
    await served.world.run("Go.", three_generations(), run_id="r")
    text = (await client.get("/runs/r/tree")).text
    assert text.count('class="depth-1"') == 2 and text.count('class="depth-2"') == 1
    nodes = await served.world.archive.children("r")
    assert all(f'href="/runs/{node.run}"' in text for node in nodes)
    lone = (await client.get(f"/runs/{nodes[-1].run}/tree")).text
    assert "This run has started no other runs." in lone
    assert (await client.get("/runs/r/tree/0")).status_code == 404
