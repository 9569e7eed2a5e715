"""The studio in a real browser, as a person uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from chat_double import Double, chunk
from studio_kit import Studio, expect, fixture, serving

from artificer.config import load_config
from artificer.world import World

pytestmark = [
    pytest.mark.browser,
    pytest.mark.req("studio-run"),
]


@fixture
async def studio(tmp_path: Path) -> AsyncIterator[Studio]:
    """A studio of a project whose model answers over HTTP."""
    double = Double(lambda _: [chunk("stop", content="# The sea\n\nIt is wide.")])
    async with double as url:
        text = f'model = "mine/m"\n[providers.mine]\nbase_url = "{url}"\n'
        (tmp_path / "artificer.toml").write_text(text, "utf-8")
        config = load_config(tmp_path, home=str(tmp_path / "home"))
        async with World.open(config) as world, serving(world) as served:
            yield served


async def test_a_new_user_has_one_thing_to_do_and_gets_a_report(studio: Studio, page: Any) -> None:
    await page.goto(f"{studio.url}/?key={studio.key}")
    await expect(page.get_by_text("There are no runs yet.")).to_be_visible()
    chosen = page.locator("#model option:checked")
    await expect(chosen).to_have_text("mine/m, as configured")
    await page.get_by_label("What should it do?").fill("Write about the sea.")
    await page.get_by_role("button", name="Run").click()
    await page.get_by_text("done", exact=True).wait_for()
    report = page.frame_locator(".frame iframe:last-child")
    await report.get_by_text("It is wide.").wait_for()
    await page.get_by_label("Send a follow-up").fill("And the sky?")
    await page.get_by_role("button", name="Send").click()
    await page.locator("#turn-2").wait_for()
    (run,) = await studio.world.archive.runs()
    assert (await studio.world.archive.replay(run)).identical
    history = await studio.world.archive.history(run)
    events = [line.event for line in history.lines if hasattr(line, "event")]
    assert [event.by for event in events if event.type == "FollowUpReceived"] == ["Ada"]
