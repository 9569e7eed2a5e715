"""Checklists in the studio: forms without script, and two people at once in a real browser."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from studio_kit import Browser, Studio, entered, expect, fixture, http_client

from artificer import Agent
from artificer.providers.scripted import ScriptedProvider, say
from artificer.runs import Run

sys.path.insert(0, str(Path(__file__).parents[1] / "journals"))

from ticked_runs import TEXT, checklist

pytestmark = pytest.mark.req("studio-checklists")


async def delivered(studio: Studio, *, label: str = "Alpha") -> Run:
    model = ScriptedProvider([checklist(("a", label), ("b", "Beta")), say(TEXT)])
    return await studio.world.run("Go.", Agent(model))


def forms(page: str) -> list[dict[str, str]]:
    """Return the fields of each item's form."""
    parts = re.findall(r'<form [^>]*class="tick">(.*?)</form>', page, re.DOTALL)
    return [dict(re.findall(r'name="(\w+)" value="([^"]*)"', part)) for part in parts]


@fixture
async def client(served: Studio) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Origin": served.url}
    async with http_client(served.url, headers=headers) as client:
        await client.get("/", params={"key": served.key})
        yield client


class TestForms:
    async def test_a_form_ticks_and_takes_back(
        self, served: Studio, client: httpx.AsyncClient
    ) -> None:
        run = await delivered(served)
        for word, done in (("yes", 1), ("no", 0)):
            first, _ = forms((await client.get(f"/runs/{run.id}")).text)
            assert first["checked"] == word
            answer = await client.post(f"/runs/{run.id}/checklists/todo", data=first)
            assert answer.status_code == 303
            assert answer.headers["location"] == f"/runs/{run.id}#checklist-todo"
            (now,) = await served.world.checklists.read(run.id)
            assert (now.done, now.items[0].by) == (done, "Ada")

    async def test_a_conflict_shows_the_list_as_it_is(
        self, served: Studio, client: httpx.AsyncClient
    ) -> None:
        run = await delivered(served)
        old, _ = forms((await client.get(f"/runs/{run.id}")).text)
        await served.world.checklists.tick(run.id, "todo", "a", by="Grace")
        await served.world.checklists.tick(run.id, "todo", "a", checked=False, by="Grace")
        answer = await client.post(f"/runs/{run.id}/checklists/todo", data=old)
        assert answer.status_code == 409
        assert "Grace has changed this item since. Nothing was changed." in answer.text
        assert forms(answer.text)[0]["revision"] == "2"

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({"item": "x"}, 404),
            ({"form_key": "wrong"}, 403),
            ({"revision": "many"}, 422),
            ({"revision": "-1"}, 422),
            ({"version": "x"}, 422),
        ],
    )
    async def test_anything_else_is_refused(
        self, served: Studio, client: httpx.AsyncClient, change: dict[str, str], status: int
    ) -> None:
        run = await delivered(served)
        form, _ = forms((await client.get(f"/runs/{run.id}")).text)
        answer = await client.post(f"/runs/{run.id}/checklists/todo", data={**form, **change})
        assert answer.status_code == status
        other = await client.post(f"/runs/{run.id}/checklists/other", data=form)
        assert other.status_code == 404
        (now,) = await served.world.checklists.read(run.id)
        assert (now.done, now.revision) == (0, 0)

    async def test_a_hostile_label_is_text(self, served: Studio, client: httpx.AsyncClient) -> None:
        run = await delivered(served, label='<script>alert(1)</script>"><img src=x>')
        for path in ("", "/checklists", "/body"):
            text = (await client.get(f"/runs/{run.id}{path}")).text
            assert "<script>alert" not in text and "<img" not in text

    async def test_a_tick_before_the_page_listens_is_told(
        self, served: Studio, client: httpx.AsyncClient
    ) -> None:
        run = await delivered(served)
        page = (await client.get(f"/runs/{run.id}")).text
        (seen,) = re.findall(r'id="checklists"[^>]* data-seq="(\d+)"', page)
        await served.world.checklists.tick(run.id, "todo", "a", by="Grace")
        url = f"/runs/{run.id}/checklists/changes?after={seen}"
        async with client.stream("GET", url) as answer:
            async for line in answer.aiter_lines():
                if line == "event: changed":
                    break
        now = (await client.get(f"/runs/{run.id}/checklists")).text
        assert int(re.findall(r'data-seq="(\d+)"', now)[0]) > int(seen)
        assert forms(now)[0]["checked"] == "no"


@pytest.mark.browser
class TestInABrowser:
    @fixture
    async def page(self, served: Studio, page: Any) -> Any:
        await entered(page, served)
        return page

    async def test_two_people_see_each_others_ticks(
        self, served: Studio, page: Any, browser: Browser
    ) -> None:
        run = await delivered(served)
        first, second = tabs = page, await browser.new_page()
        await entered(second, served)
        for tab in tabs:
            await tab.goto(f"{served.url}/runs/{run.id}")
        await first.get_by_role("checkbox", name="Alpha").click()
        await second.get_by_role("checkbox", name="Alpha", checked=True).wait_for()
        await second.get_by_role("checkbox", name="Beta").focus()
        await second.keyboard.press("Space")
        await first.get_by_role("checkbox", name="Beta", checked=True).wait_for()
        await expect(first.get_by_text("2 of 2 done")).to_be_visible()
        await served.world.checklists.tick(run.id, "todo", "a", checked=False, by="Grace")
        for tab in tabs:
            await tab.get_by_role("checkbox", name="Alpha", checked=False).wait_for()
            await expect(tab.get_by_text("taken back by Grace")).to_be_visible()
        await first.reload()
        await expect(first.get_by_role("checkbox", name="Beta", checked=True)).to_be_visible()
        assert (await served.world.archive.replay(run.id)).identical
        assert (await served.world.get(run.id)).state.turn == run.state.turn

    async def test_a_press_is_not_lost_when_somebody_ticks_meanwhile(
        self, served: Studio, page: Any
    ) -> None:
        run = await delivered(served)
        await page.goto(f"{served.url}/runs/{run.id}")
        await page.get_by_role("checkbox", name="Beta").focus()
        await page.keyboard.down("Space")
        async with page.expect_response("**/checklists"):
            await served.world.checklists.tick(run.id, "todo", "a", by="Grace")
        await page.evaluate("new Promise((go) => setTimeout(go, 300))")  # to replace it, if it does
        await page.keyboard.up("Space")
        await expect(page.get_by_role("checkbox", name="Alpha", checked=True)).to_be_visible()
        await expect(page.get_by_role("checkbox", name="Beta", checked=True)).to_be_focused()

    async def test_a_late_answer_does_not_take_a_tick_back(self, served: Studio, page: Any) -> None:
        run, held = await delivered(served), asyncio.Event()
        late: list[Any] = []

        async def keep_first(route: Any) -> None:
            """Let the first answer come only after the second tick."""
            answer = await route.fetch()
            if not late:
                late.append(answer)
                await held.wait()
            await route.fulfill(response=answer)

        await page.route("**/checklists", keep_first)  # first: an open page may not notice at once
        await page.goto(f"{served.url}/runs/{run.id}")
        async with page.expect_request("**/checklists"):
            await served.world.checklists.tick(run.id, "todo", "a", by="Grace")
        await page.get_by_role("checkbox", name="Beta").click()
        async for _ in served.world.checklists.changes(run.id, 0):
            if (await served.world.checklists.read(run.id))[0].items[1].checked:
                break
        await page.evaluate("new Promise((go) => setTimeout(go, 300))")  # for the newer answers
        held.set()
        for name in ("Alpha", "Beta"):
            await expect(page.get_by_role("checkbox", name=name, checked=True)).to_be_visible()
        await expect(page.get_by_text("2 of 2 done")).to_be_visible()

    async def test_a_stale_tab_is_told_and_changes_nothing(self, served: Studio, page: Any) -> None:
        run = await delivered(served)
        await page.route("**/checklists/changes?*", lambda route: route.abort())
        await page.goto(f"{served.url}/runs/{run.id}")
        await served.world.checklists.tick(run.id, "todo", "a", by="Grace")
        await served.world.checklists.tick(run.id, "todo", "a", checked=False, by="Grace")
        await page.get_by_role("checkbox", name="Alpha").click()
        await page.get_by_text("Somebody has changed this meanwhile.").wait_for()
        await expect(page.get_by_role("checkbox", name="Alpha", checked=False)).to_be_visible()
        (now,) = await served.world.checklists.read(run.id)
        assert (now.done, now.revision) == (0, 2)
