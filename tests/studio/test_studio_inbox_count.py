"""How many runs wait for a person, as every page says it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from studio_kit import Studio, entered, expect, fixture, http_client, serving

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.core.policy import Policy, Rule
from artificer.providers.scripted import ScriptedProvider, call, reply
from artificer.studio import inbox_count
from artificer.studio.inbox_count import InboxCount, InboxCounter
from artificer.world import World

pytestmark = pytest.mark.req("studio-inbox-count")

ASKS = Policy(rules=(Rule(tool="pay", decision="ask", reason="Money moves."),))


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


async def ask(world: World, run: str) -> None:
    """Let a run wait for a person."""
    model = ScriptedProvider([reply(call("pay", to=run))])
    agent = Agent(model, kind="chat", tools=[pay], policy=ASKS)
    await world.run(f"Pay {run}", agent, run_id=run)


@fixture
async def waiting(served: Studio) -> AsyncIterator[Studio]:
    """A studio with a run that waits, and one that waits for another one that does."""
    payer = Agent(
        ScriptedProvider([reply(call("pay", to="Ada"))]), kind="chat", tools=[pay], policy=ASKS
    )
    model = ScriptedProvider([reply(call("payer", prompt="Pay Ada."))])
    agent = Agent(model, kind="chat", tools=[payer.as_tool("payer", "Pay.")])
    await served.world.run("Let somebody pay.", agent, run_id="caller")
    await ask(served.world, "alone")
    yield served


def counted(text: str) -> str:
    """The words of the link to the inbox."""
    (link,) = re.findall(r'href="/inbox"[^>]*>(.*?)</a>', text, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", link).split())


async def test_every_page_says_what_the_inbox_shows(
    waiting: Studio, client: httpx.AsyncClient
) -> None:
    inbox = (await client.get("/inbox")).text
    assert len(re.findall(r"<section>", inbox)) == 2
    for path in ("/", "/inbox", "/runs", "/runs/alone", "/runs/alone/records", "/runs/nowhere"):
        assert counted((await client.get(path)).text) == "Inbox 2 wait for you", path
    part = (await client.get("/inbox/count")).text
    assert part.startswith('<span id="inbox-count" data-runs="2">')
    for body in ("body", "report"):
        assert "inbox-count" not in (await client.get(f"/runs/alone/{body}")).text


async def test_nothing_is_said_where_nothing_waits(client: httpx.AsyncClient) -> None:
    assert counted((await client.get("/")).text) == "Inbox"


async def test_a_stranger_learns_nothing(waiting: Studio) -> None:
    async with http_client(waiting.url) as stranger:
        answer = await stranger.get("/inbox/count")
        assert answer.status_code == 401 and "data-runs" not in answer.text


class Archive:
    """Lists what there is, and counts how often."""

    def __init__(self, world: World) -> None:
        self.archive = self
        self.listed = 0
        self._world = world

    async def list_runs(self, *limits: Any, **wanted: Any) -> Any:
        self.listed += 1
        await asyncio.sleep(0)
        return await self._world.archive.list_runs(*limits, **wanted)


async def test_all_who_ask_at_once_share_a_count_that_is_not_old() -> None:
    async with World.in_memory() as world:
        archive: Any = Archive(world)
        counter = InboxCounter(archive)
        assert await asyncio.gather(*(counter.get() for _ in range(50))) == [InboxCount()] * 50
        assert archive.listed <= 2
        await ask(world, "w")
        assert await counter.get() == (1, False)


async def test_many_are_not_counted_to_the_end() -> None:
    async with World.in_memory() as world:
        for number in range(3):
            await ask(world, f"w-{number}")
        assert (await InboxCounter(world, limit=2).get()).text == "2+"
        assert (await InboxCounter(world, limit=3).get()).text == "3"
    assert inbox_count.LIMIT == 99


@pytest.mark.browser
async def test_an_open_page_follows(page: Any) -> None:
    async with World.in_memory() as world, serving(world) as studio:
        await entered(page, studio)
        link = page.get_by_role("navigation", name="Studio").get_by_role("link", name="Inbox")
        await expect(link).to_have_text("Inbox")
        await ask(world, "w")
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await expect(link).to_have_text(re.compile(r"Inbox\s+1\s+waits for you"))
        await expect(page.locator("#inbox-notice")).to_have_text("Inbox: 1 waits for you.")
