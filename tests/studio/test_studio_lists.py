"""Lists of runs in the studio and its API: filters, pages, and the inbox of all runs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from studio_kit import Studio, entered, expect, fixture, serving

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.core.policy import Policy, Rule
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.listing.lister import RunLister
from artificer.studio.views.runs import SHOWN
from artificer.world import World
from test_run_list import FullDisk

pytestmark = pytest.mark.req("studio-lists")

HOSTILE = "<script>alert(1)</script>\u202eexe.gpj\"'{{ run.run }}<img src=x onerror=alert(2)>"


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


async def fill(world: World, waiting: int = 3) -> None:
    """Two runs that are done, one of them with a hostile prompt, and those that wait."""
    for name, prompt in (("a-1", "A green lamp"), ("b-2", HOSTILE)):
        await Agent(ScriptedProvider([say("Fine.")]), kind="chat").run(
            prompt, world=world, run_id=name
        )
    asks = Policy(rules=(Rule(tool="pay", decision="ask", reason="Money moves."),))
    for number in range(waiting):
        agent = Agent(
            ScriptedProvider([reply(call("pay", to=f"Ada {number}"))]),
            kind="chat",
            tools=[pay],
            policy=asks,
        )
        await agent.run(f"Pay {number}", world=world, run_id=f"w-{number}")


@fixture
async def filled(served: Studio) -> AsyncIterator[Studio]:
    await fill(served.world)
    yield served


def listed(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200
    (main,) = re.findall(r"<main.*</main>", answer.text, re.DOTALL)
    return re.findall(r'href="/runs/([a-z]-\d+)"', main)


async def test_the_list_has_filters_and_pages(filled: Studio, client: httpx.AsyncClient) -> None:
    assert listed(await client.get("/runs")) == ["w-2", "w-1", "w-0", "b-2", "a-1"]
    for query, found in (
        ({"text": "lamp"}, ["a-1"]),
        ({"status": "completed"}, ["b-2", "a-1"]),
        ({"waiting": "yes", "model": "scripted"}, ["w-2", "w-1", "w-0"]),
        ({"agent": "nobody"}, []),
        ({"since": "2999-01-01"}, []),
        ({"until": "2000-01-01"}, []),
        ({"since": "no day", "until": "9999-12-31", "below": "yes", "text": "pay 1"}, ["w-1"]),
        ({"status": "' OR 1=1 --", "text": HOSTILE}, []),
        ({"before": "nowhere"}, []),
    ):
        answer = await client.get("/runs", params=query)
        assert listed(answer) == found, query
        assert "<script>alert" not in answer.text and "onerror=alert(2)>" not in answer.text


async def test_a_hostile_title_is_only_a_title(filled: Studio, client: httpx.AsyncClient) -> None:
    for path in ("/", "/runs"):
        text = (await client.get(path)).text
        assert "&lt;script&gt;alert(1)" in text and "<script>alert" not in text
        assert "\u202e" not in text and "U+202E" in text


async def test_long_lists_have_pages(served: Studio, client: httpx.AsyncClient) -> None:
    await fill(served.world, SHOWN + 1)
    first = await client.get("/runs", params={"waiting": "yes"})
    newest = [f"w-{number}" for number in range(SHOWN + 1)][::-1]
    assert listed(first) == newest[:-1]
    (older,) = re.findall(r'href="(/runs\?[^"]*before=[^"]*)"', first.text)
    assert listed(await client.get(older.replace("&amp;", "&"))) == ["w-0"]
    first = await client.get("/inbox")
    assert "Ada 0" in first.text and f"Ada {SHOWN}" not in first.text
    (more,) = re.findall(r'href="(/inbox\?after=[^"]*)"', first.text)
    second = await client.get(more)
    assert f"Ada {SHOWN}" in second.text and "Ada 1&" not in second.text
    assert "after=" not in second.text
    home = (await client.get("/")).text
    assert home.index("Waits for you") < home.index(f"w-{SHOWN}")


async def test_the_api_has_the_same_filters(filled: Studio, client: httpx.AsyncClient) -> None:
    async def page(path: str, **query: Any) -> dict[str, Any]:
        answer = await client.get(f"/api/v1/{path}", params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    waiting = await page("runs", waiting="true", limit=2)
    assert [run["run"] for run in waiting["runs"]] == ["w-2", "w-1"]
    assert (waiting["next"], waiting["searched"]) == ("w-1", None)
    rest = await page("runs", waiting="true", limit=2, before="w-1")
    assert [(run["run"], run["questions"], run["turns"]) for run in rest["runs"]] == [("w-0", 1, 1)]
    oldest = await page("runs", oldest_first="true", text="LAMP", kind="chat")
    assert [run["run"] for run in oldest["runs"]] == ["a-1"]
    inbox = await page("inbox", limit=2)
    assert [question["run"] for question in inbox["questions"]] == ["w-2", "w-1"]
    rest = await page("inbox", before=inbox["next"])
    assert [question["run"] for question in rest["questions"]] == ["w-0"]
    assert rest["next"] is rest["searched"] is None


async def test_without_an_index_the_studio_says_what_it_looked_at(
    filled: Studio, client: httpx.AsyncClient
) -> None:
    storage: Any = filled.world._resources.storage.storage
    storage.run_index = FullDisk()
    filled.world._resources.lister = RunLister(storage, scanned=3)
    answer = await client.get("/runs", params={"waiting": "yes"})
    assert listed(answer) == ["w-2", "w-1", "w-0"]
    assert "the newest 3 runs are looked at" in answer.text
    assert "Only the newest 3 runs" in (await client.get("/inbox")).text


async def test_a_person_finds_a_run_in_the_browser(page: Any) -> None:
    async with World.in_memory() as world, serving(world) as studio:
        await fill(world)
        await entered(page, studio)
        await page.get_by_role("link", name="All runs, with filters").click()
        await page.get_by_label("Words in the prompt").fill("lamp")
        await page.get_by_role("button", name="Show").click()
        main = page.get_by_role("main")
        await expect(main.get_by_role("listitem")).to_have_count(1)
        await expect(main.get_by_role("link", name="A green lamp")).to_be_visible()
        await page.get_by_label("Words in the prompt").fill("")
        await page.get_by_label("Waits for a person").check()
        await page.get_by_role("button", name="Show").click()
        await expect(main.get_by_role("listitem")).to_have_count(3)
