"""The pages of many who watch: how often each asks for its body, and a model that is delayed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from studio_kit import Studio, entered, expect

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.events import ModelDelayed, TextStreamed, TurnStarted
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.bodies import BODIES_PER_SECOND, LEAST_MS, SPACING, spacing_ms
from artificer.studio.forming import Forming
from artificer.values.model import ArgumentsDelta, Delta, RetryDelta, TextDelta

LATER = 4_000_000_000_000
"""A moment far away: milliseconds since 1970."""

HOUR = 3_600_000
"""Milliseconds until which a page has loaded, on any machine."""

TURNS = 5


class Stepwise(ScriptedProvider):
    """Calls a tool in some turns, each after it was let, and begins one more call at the end."""

    def __init__(self) -> None:
        calls = [reply(call("look", n=number)) for number in range(TURNS)]
        super().__init__([*calls, say("Done.")])
        self.asked, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.may_end, self.at_last = asyncio.Event(), asyncio.Event()

    async def generate(self, payload: Any, on_delta: Callable[[Delta], None]) -> Any:
        self.asked.set()
        await self.may_go_on.wait()
        if self.remaining == 1:
            self.at_last.set()
            on_delta(ArgumentsDelta(index=0, name="last_look", text='{"n": 1'))
            await self.may_end.wait()
        return await super().generate(payload, lambda _: None)


@tool(effect="pure")
def look(n: int) -> int:
    """Look."""
    return n


@pytest.mark.req("studio-spaced")
async def test_the_more_watch_the_more_rarely_each_page_is_brought_up_to_date(
    served: Studio, client: httpx.AsyncClient
) -> None:
    assert [spacing_ms(n) for n in (0, 1)] == [LEAST_MS] * 2
    assert all(n * 1_000 / spacing_ms(n) <= BODIES_PER_SECOND for n in (8, 20, 200, 10_000))
    agent = Agent(ScriptedProvider([say("Done.")]), kind="chat")
    await served.world.run("Look.", agent, run_id="r")
    assert f'data-spacing="{LEAST_MS}"' in (await client.get("/runs/r")).text
    assert (await client.get("/runs/r/body?seq=1")).headers[SPACING] == str(LEAST_MS)


@pytest.mark.browser
@pytest.mark.req("studio-spaced")
async def test_many_records_are_one_body_and_none_where_nobody_looks(
    served: Studio, page: Any
) -> None:
    model, bodies = Stepwise(), list[str]()
    agent = Agent(model, kind="chat", tools=[look])
    task = asyncio.create_task(served.world.run("Look.", agent, run_id="r"))
    await model.asked.wait()
    page.on("request", lambda sent: bodies.append(sent.url) if "/body" in sent.url else None)
    await page.clock.install(time=0)
    await entered(page, served)
    async with page.expect_response("**/events*"):
        await page.goto(f"{served.url}/runs/r")
    await page.clock.pause_at(HOUR)  # from here on, time goes as the test lets it
    await page.evaluate("Object.defineProperty(document, 'hidden', {value: true, writable: true})")
    model.may_go_on.set()
    await expect(page.locator("#calling")).to_contain_text("last_look")
    assert bodies == []
    await page.evaluate("document.hidden = false")
    async with page.expect_response("**/body*"):
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await page.clock.run_for(LEAST_MS)
    await expect(page.locator(".call")).to_have_count(TURNS)
    await expect(page.locator("#calling")).to_contain_text("last_look")
    assert len(bodies) == 1
    model.may_end.set()
    await task


@pytest.mark.browser
@pytest.mark.req("studio-spaced")
async def test_a_body_that_did_not_come_is_asked_for_again(served: Studio, page: Any) -> None:
    model, lost_last = Stepwise(), asyncio.Event()

    async def lose(route: Any) -> None:
        """Lose every body up to that of the last record, once."""
        if lost_last.is_set():
            await route.continue_()
            return
        await route.abort()
        seq = (await served.world.archive.history("r")).lines[-1].seq
        if model.at_last.is_set() and route.request.url.endswith(f"seq={seq}"):
            lost_last.set()

    agent = Agent(model, kind="chat", tools=[look])
    task = asyncio.create_task(served.world.run("Look.", agent, run_id="r"))
    await model.asked.wait()
    await entered(page, served)
    await page.route("**/body*", lose)
    async with page.expect_response("**/events*"):
        await page.goto(f"{served.url}/runs/r")
    model.may_go_on.set()
    await expect(page.locator(".call")).to_have_count(TURNS)
    assert lost_last.is_set()
    model.may_end.set()
    await task


class Limited(ScriptedProvider):
    """Has to wait for its provider, and then writes a little before its reply."""

    def __init__(self) -> None:
        super().__init__([say("The sea.")])
        self.asked, self.watched, self.answers = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.may_end = asyncio.Event()

    async def generate(self, payload: Any, on_delta: Callable[[Delta], None]) -> Any:
        self.asked.set()
        await self.watched.wait()
        on_delta(TextDelta(text="The s"))
        on_delta(RetryDelta(code="rate_limited", until=LATER, attempt=2, attempts=4))
        await self.answers.wait()
        on_delta(TextDelta(text="The sea "))
        await self.may_end.wait()
        return await super().generate(payload, lambda _: None)


@pytest.mark.req("provider-delays")
async def test_the_page_says_what_a_delayed_model_waits_for(
    served: Studio, client: httpx.AsyncClient
) -> None:
    model = Limited()
    agent = Agent(model, kind="chat")
    task = asyncio.create_task(served.world.run("Look.", agent, run_id="r"))
    await model.asked.wait()
    async with client.stream("GET", "/runs/r/events") as stream:
        lines = stream.aiter_lines()
        await reached(lines, "turn_started")
        model.watched.set()
        await reached(lines, "model_delayed")
        shown = (await client.get("/runs/r")).text
        assert "The provider&#39;s rate limit or quota is used up. Next attempt at" in shown
        assert "UTC</time>" in shown and "(attempt 2 of 4)" in shown
        model.answers.set()
        await reached(lines, "text")
        assert "(attempt 2 of 4)" not in (await client.get("/runs/r")).text
        model.may_end.set()
    await task


async def reached(lines: Any, kind: str) -> None:
    """Read a stream up to an event."""
    async for line in lines:
        if line == f"event: {kind}":
            return
    raise AssertionError(f"the stream ended before {kind}")


@pytest.mark.req("provider-delays")
def test_what_had_formed_before_a_delay_does_not_count() -> None:
    forming = Forming()
    delayed = ModelDelayed(run="r", seq=2, code="overloaded", until=LATER, attempt=2, attempts=4)
    for event in TextStreamed(run="r", seq=2, text="The s"), delayed:
        forming.add(event)
    assert (forming.events, forming.delay) == ([delayed], delayed)
    forming.add(TextStreamed(run="r", seq=2, text="The sea"))
    assert forming.delay is None and len(forming.events) == 2
    forming.add(TurnStarted(run="r", seq=3, turn=2))
    assert forming.delay is None
