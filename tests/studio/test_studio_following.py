"""A run that is under way: who executes it, and that its report is not finished."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from studio_kit import Studio, http_client

from artificer.agent import Agent
from artificer.providers.scripted import ScriptedProvider, say
from artificer.studio.bodies import FORM_KEY, MAX_BODIES, Bodies
from artificer.studio.words import count
from artificer.values.model import Delta


class Held(ScriptedProvider):
    """Replies when it is let."""

    def __init__(self) -> None:
        super().__init__([say("Done."), say("On.")])
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    async def generate(self, payload: Any, on_delta: Callable[[Delta], None]) -> Any:
        self.asked.set()
        await self.let.wait()
        return await super().generate(payload, on_delta)


async def begun(studio: Studio) -> tuple[Held, asyncio.Task[Any]]:
    model = Held()
    task = asyncio.create_task(studio.world.run("Look.", Agent(model), run_id="r"))
    await model.asked.wait()
    return model, task


async def form_key(client: httpx.AsyncClient) -> str:
    client.headers["Origin"] = str(client.base_url).rstrip("/")
    return (await client.get("/")).text.partition('name="form_key" value="')[2].partition('"')[0]


@pytest.mark.req("studio-elsewhere")
async def test_resume_here_says_that_another_one_has_the_run(
    served: Studio, client: httpx.AsyncClient
) -> None:
    model, task = await begun(served)
    key = {"form_key": await form_key(client)}
    page = (await client.get("/runs/r")).text
    assert "Resume here" in page and "is owned by" not in page
    assert (await client.post("/runs/r/steer", data={**key, "text": "On."})).status_code == 303
    assert "is owned by" not in (await client.get("/runs/r")).text  # it reaches the run there
    assert (await client.post("/runs/r/resume", data=key)).status_code == 303
    while "is owned by" not in (page := (await client.get("/runs/r")).text):
        pass  # on a busy machine, it is not known at once
    assert "Signals still reach the run." in page and "--take-over" in page
    model.let.set()
    await task
    assert "is owned by" not in (await client.get("/runs/r")).text


@pytest.mark.req("studio-draft")
async def test_a_draft_does_not_say_that_it_is_incomplete(
    served: Studio, client: httpx.AsyncClient
) -> None:
    model, task = await begun(served)
    draft = (await client.get("/runs/r/report")).text
    assert "This report is not finished yet." in draft and "incomplete" not in draft
    model.let.set()
    await task
    assert "not finished yet" not in (await client.get("/runs/r/report")).text


@pytest.mark.req("plurals")
async def test_one_is_not_many(served: Studio, client: httpx.AsyncClient) -> None:
    await served.world.run("Look.", Agent(ScriptedProvider([say("Done.")])), run_id="r")
    page = (await client.get("/runs")).text
    assert re.search(r"\b1 turn\b", page) and "1 turns" not in page
    assert [count(n, "turn") for n in (0, 1, 2, 1234)] == [
        "0 turns",
        "1 turn",
        "2 turns",
        "1\u202f234 turns",
    ]


@pytest.mark.req("studio-shared-body")
async def test_a_body_is_made_once_for_all_who_look_at_once() -> None:
    bodies, made = Bodies(fresh_s=3600), 0

    async def make() -> tuple[int, str]:
        nonlocal made
        made += 1
        await asyncio.sleep(0)
        return made, f"body {made}"

    first = await asyncio.gather(*(bodies.get("r", 1, make) for _ in range(50)))
    assert first == ["body 1"] * 50
    assert await bodies.get("r", 2, make) == "body 2"  # a record that the first did not show
    assert await bodies.get(("r", "other rights"), 1, make) == "body 3"
    for number in range(2 * MAX_BODIES):
        await bodies.get(number, 0, make)
    assert len(bodies._kept) == MAX_BODIES


@pytest.mark.req("studio-shared-body")
async def test_a_shared_body_has_the_form_key_of_who_looks(
    served: Studio, client: httpx.AsyncClient
) -> None:
    model, task = await begun(served)
    async with http_client(served.url) as other:
        await other.get("/", params={"key": served.key})
        keys = [await form_key(client), await form_key(other)]
        path = "/runs/r/body?seq=1"
        bodies = [(await client.get(path)).text, (await other.get(path)).text]
        assert keys[0] != keys[1] and FORM_KEY not in "".join(bodies)
        assert keys[0] in bodies[0] and keys[1] in bodies[1] and keys[0] not in bodies[1]
        assert bodies[0].replace(*keys) == bodies[1]
        assert (await client.get("/runs/r/body")).text == bodies[0]
    model.let.set()
    await task
