"""Looking back at a run: record by record, a fork from there, and its replay."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_double import Double, chunk
from studio_kit import Studio, entered, expect, fixture, http_client, serving
from test_studio_decisions import EVIL, form_of, post, waiting

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import load_config
from artificer.core.record import EventLine
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.moments import MAX_BODY, moment
from artificer.world import World


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


@fixture
async def studio(tmp_path: Path) -> AsyncIterator[Studio]:
    """A studio of a project whose model answers over HTTP with what it heard last."""

    def answer(body: dict[str, Any]) -> list[dict[str, Any]]:
        heard = body["messages"][-1]["content"]
        return [chunk("stop", content=f"# Heard\n\n{str(heard)[-80:]}")]

    async with Double(answer) as url:
        text = f'model = "mine/m"\n[providers.mine]\nbase_url = "{url}"\n'
        (tmp_path / "artificer.toml").write_text(text, "utf-8")
        config = load_config(tmp_path, home=str(tmp_path / "home"))
        async with World.open(config) as world, serving(world) as served:
            await world.run("Speak.", run_id="r")
            yield served


@pytest.mark.browser
@pytest.mark.req("studio-timeline")
async def test_steps_through_records_and_forks_there(studio: Studio, page: Any) -> None:
    await entered(page, studio)
    await page.goto(f"{studio.url}/runs/r")
    await page.get_by_role("link", name="Timeline").click()
    await page.get_by_role("link", name="PromptReceived").click()
    count = len((await studio.world.archive.history("r")).lines)
    for seq in range(1, count + 1):
        await page.get_by_text(f"Record {seq} of {count}").wait_for()
        await page.wait_for_load_state()
        await page.keyboard.press("ArrowRight")
    await expect(page.get_by_text("completed").first).to_be_visible()
    await page.keyboard.press("Home")
    await page.get_by_text(f"Record 1 of {count}").wait_for()
    await page.get_by_role("link", name="After →").click()
    await page.get_by_text(f"Record 2 of {count}").wait_for()
    await page.wait_for_load_state()
    await page.get_by_label("Send the model a message").fill("In verse.")
    await page.keyboard.press("ArrowLeft")
    assert f"Record 2 of {count}" in await page.inner_text("main"), "a text is being written"
    await page.get_by_role("button", name="Fork").click()
    await page.get_by_text("done", exact=True).wait_for()
    await page.frame_locator(".frame iframe:last-child").get_by_text("In verse.").wait_for()
    runs = await studio.world.archive.runs()
    assert len(runs) == 2
    await page.get_by_role("link", name="Replay").click()
    await expect(page.get_by_role("heading", name="Identical")).to_have_count(0)
    await page.get_by_role("button", name="Replay now").click()
    await expect(page.get_by_role("heading", name="Identical")).to_be_visible()


@pytest.mark.req("studio-timeline")
async def test_every_record_has_a_page_with_its_state_and_its_actor(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await waiting(served.world)
    lines = (await served.world.archive.history("r")).lines
    listed = (await client.get("/runs/r/records")).text
    for line in lines:
        text = (await client.get(f"/runs/r/records/{line.seq}")).text
        assert f'href="/runs/r/records/{line.seq}"' in listed
        assert "<script>alert" not in text and "\u202e" not in text
        if isinstance(line, EventLine):
            assert line.state in text and line.event.type in text
    assert "<script>alert" not in listed and "\u202e" not in listed
    for wrong in ("0", "-1", "99", "x", "1" * 5_000, "٣"):
        assert (await client.get(f"/runs/r/records/{wrong}")).status_code == 404
    for start in ("0", "-1", "99", "x", "1" * 5_000):
        assert (await client.get(f"/runs/r/records?from={start}")).status_code == 200


@pytest.mark.req("studio-timeline")
async def test_a_result_is_changed_in_a_fork_and_a_fork_that_fails_says_why(
    served: Studio, client: httpx.AsyncClient
) -> None:
    agent = Agent(ScriptedProvider([reply(call("look", at=EVIL)), say("Hm.")]), tools=[look])
    await served.world.run("Look.", agent, run_id="r")
    lines = (await served.world.archive.history("r")).lines
    [seq] = [n.seq for n in lines if isinstance(n, EventLine) and n.event.type == "ToolReturned"]
    text = (await client.get(f"/runs/r/records/{seq}")).text
    assert "saw \u27e8U+202E" not in text.partition('name="content"')[2].partition("<")[0]
    data = {**form_of(text, f"../records/{seq}/fork"), "content": "saw nothing", "text": ""}
    data["form_key"] = re.findall(r'name="form_key" value="([^"]+)"', text)[0]
    answer = await post(client, f"/runs/r/records/{seq}/fork", data)
    assert answer.status_code == 409 and 'role="alert"' in answer.text, "no such model is here"
    assert await served.world.archive.runs() == ["r"]
    assert (await post(client, "/runs/r/records/0/fork", data)).status_code == 404
    wrong = {**data, "form_key": "x"}
    assert (await post(client, f"/runs/r/records/{seq}/fork", wrong)).status_code == 403


@pytest.mark.req("studio-timeline")
async def test_a_long_record_is_cut(served: Studio) -> None:
    agent = Agent(ScriptedProvider([say("x" * 300_000)]), kind="chat")
    await served.world.run("y" * 200_000, agent, run_id="r")
    lines = (await served.world.archive.history("r")).lines
    for line in lines:
        found = moment(lines, line.seq)
        assert len(found.body) <= MAX_BODY and len(found.entry.summary) <= 200


@pytest.mark.req("studio-replay")
async def test_a_replay_of_a_changed_journal_names_the_record(tmp_path: Path) -> None:
    config = load_config(tmp_path, home=str(tmp_path / "home"))
    async with World.open(config) as world:
        await world.run("Hi.", Agent(ScriptedProvider([say("Ho.")])), run_id="r")
    file = next((tmp_path / "home").rglob("journal.db"))
    with sqlite3.connect(file) as base:
        base.execute("UPDATE records SET body = CAST(body || ' ' AS BLOB) WHERE seq = 3")
    async with (
        World.open(config) as world,
        serving(world) as studio,
        http_client(studio.url) as client,
    ):
        await client.get("/", params={"key": studio.key})
        page = await client.get("/verify")
        assert "No problems found" not in page.text
        key = {"form_key": re.findall(r'name="form_key" value="([^"]+)"', page.text)[0]}
        verified = (await post(client, "/verify", key)).text
        assert "No problems found" not in verified and "does not match its hash" in verified
        assert (await post(client, "/verify", {"form_key": "x"})).status_code == 403
