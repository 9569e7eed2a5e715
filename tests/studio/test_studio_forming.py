"""A run as it forms, in a real browser, over a model whose every piece the test sends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from paced_double import PacedDouble
from studio_kit import PATIENCE, Studio, entered, expect, fixture, serving

from artificer.config import load_config
from artificer.world import World

pytestmark = [pytest.mark.browser, pytest.mark.req("studio-forming")]

PRICES = '[prices."mine/m"]\ninput = 1.0\noutput = 1.0\n'

TABLE = {
    "kind": "table",
    "id": "seas",
    "title": "The <b>seas</b>",
    "columns": ["sea", "area"],
    "rows": [["North", "570"], ["Baltic", "377"]],
}


WRITTEN = "The sea is <i>wide</i>."


@fixture
async def model() -> AsyncIterator[PacedDouble]:
    async with PacedDouble() as double:
        yield double


@fixture
async def studio(tmp_path: Path, model: PacedDouble) -> AsyncIterator[Studio]:
    text = f'model = "mine/m"\n[providers.mine]\nbase_url = "{model.url}"\n{PRICES}'
    (tmp_path / "artificer.toml").write_text(text, "utf-8")
    config = load_config(tmp_path, home=str(tmp_path / "home"))
    async with World.open(config) as world, serving(world) as served:
        yield served


def file(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


async def listening(page: Any, model: PacedDouble) -> None:
    """Send pieces until the page shows one: it listens from then on."""
    while True:
        model.text("I make a table. ")
        try:
            await expect(page.locator("#forming")).not_to_be_empty(timeout=500)
            break
        except AssertionError:
            continue


async def seen_late(page: Any) -> None:
    """See that a page opened late has what was streamed, and that no piece is read aloud."""
    late = await page.context.new_page()
    late.set_default_timeout(PATIENCE)
    await late.goto(page.url)
    await expect(late.locator("#forming")).to_contain_text("table seas And this goes on")
    await expect(late.locator("#forming")).to_contain_text(WRITTEN)
    await late.close()
    read_aloud = page.locator("[aria-live], [role=status], [role=alert], [role=log]")
    streamed = page.locator("#forming, #thinking, #calling, #making")
    await expect(read_aloud.locator(streamed)).to_have_count(0)  # states are, pieces are not
    await expect(page.locator("#notice")).not_to_contain_text("sea")


@pytest.mark.req("studio-hostile")
async def test_what_forms_does_not_hide_or_reverse_letters(
    studio: Studio, model: PacedDouble, page: Any
) -> None:
    word = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    hidden = f"a\u202eb\u200bc\u3164d {word}"
    shown = f"a\u27e8U+202E\u27e9b\u27e8U+200B\u27e9c\u27e8U+3164\u27e9d {word}"
    await entered(page, studio)
    await page.get_by_label("What should it do?").fill("Go.")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.locator(".run-head")).to_contain_text("Waits for the reply")
    await listening(page, model)
    model.text(f"{hidden} and so on. ")
    await expect(page.locator("#forming")).to_contain_text(shown)
    model.call(0, "create_table", json.dumps({"table": {**TABLE, "title": hidden}}))
    await expect(page.locator(".skeleton")).to_contain_text(shown)


@pytest.mark.req("studio-calm")
async def test_a_run_appears_piece_by_piece(studio: Studio, model: PacedDouble, page: Any) -> None:
    await entered(page, studio)
    await page.get_by_label("What should it do?").fill("Write about the sea.")
    await page.get_by_label("Files").set_input_files([file("notes.txt", "It is wide.")])
    dropped = await page.evaluate_handle(
        "() => { const all = new DataTransfer();"
        " all.items.add(new File(['More.'], 'dropped.txt', {type: 'text/plain'})); return all; }"
    )
    await page.dispatch_event("form.ask", "drop", {"dataTransfer": dropped})
    await expect(page.locator("#files-notice")).to_contain_text("notes.txt (1 kB), dropped.txt")
    await page.locator(".options > summary").click()
    await page.get_by_label("At most, in dollars").fill("0.50")
    await page.get_by_role("button", name="Run", exact=True).click()

    head = page.locator(".run-head")
    await expect(head).to_contain_text("Waits for the reply of mine/m in turn 1")
    await expect(head).to_contain_text("notes.txt, dropped.txt")
    await expect(head.get_by_label("Cost: $0.0000 of $0.5000")).to_be_visible()
    await expect(page.locator(".frame")).to_contain_text("The report appears here as it is written")

    await listening(page, model)
    arguments = json.dumps({"table": TABLE})
    model.call(0, "create_table")
    model.arguments(0, arguments[:60])
    skeleton = page.locator(".skeleton")
    await expect(skeleton).to_contain_text("table seas")
    model.arguments(0, arguments[60:])
    await expect(skeleton).to_contain_text("The <b>seas</b>")  # as text
    model.call(1, "create_bar_chart", '{"chart": {"id": "bars", "title": "The areas of the seas"}}')
    await expect(skeleton.nth(1)).to_contain_text("bar chart bars")
    model.end("tool_calls")

    report = page.frame_locator(".frame iframe:last-child")
    await expect(report.get_by_text("Baltic")).to_be_visible()
    await expect(skeleton).to_have_count(0)
    refused = page.locator("details.call", has_text="create_bar_chart")
    await expect(refused).to_contain_text("refused: invalid at /")
    await refused.locator("summary").click()
    await expect(refused.locator(".problem").first).to_be_visible()
    made = page.locator("details.call", has_text="create_table")
    await expect(made).to_contain_text("allowed")
    await expect(made.locator("a", has_text="Receipt")).to_have_count(1)

    await page.get_by_label("Send the model a message").fill("Be br")
    model.text(f"{WRITTEN} {{{{artifact:table:seas}}}} And this goes on for a while. So")
    forming = page.locator("#forming")
    await expect(forming).to_contain_text("The sea is <i>wide</i>.")
    await expect(forming.locator(".cited")).to_have_text("table seas")
    await seen_late(page)
    await expect(refused).to_have_attribute("open", "")  # stays open while the page changes
    model.text(" it is.")
    model.end()
    await expect(head).to_contain_text("done")
    await expect(page.locator("#notice")).to_have_text("The run is now: done.")
    await expect(report.get_by_text("So it is.")).to_be_visible()
    await expect(forming).to_be_empty()
    await expect(page.get_by_label("Send the model a message")).to_have_value("Be br")
    assert any("It is wide." in json.dumps(message) for message in model.requests[0]["messages"])


async def test_a_run_is_paused_resumed_and_asked_more(
    studio: Studio, model: PacedDouble, page: Any
) -> None:
    await entered(page, studio)
    await page.get_by_label("What should it do?").fill("Write about the sea.")
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_label("Send the model a message").fill("In two lines.")
    await page.get_by_role("button", name="Send").click()
    await page.get_by_role("button", name="Pause").click()
    model.call(0, "create_table", json.dumps({"table": TABLE}))
    model.end("tool_calls")
    head = page.locator(".run-head")
    await expect(head.locator(".badge")).to_have_text("paused")
    await page.get_by_role("button", name="Resume", exact=True).click()
    await expect(head).to_contain_text("Waits for the reply of mine/m in turn 2")
    model.text("{{artifact:table:seas}}")
    model.end()
    await expect(head.locator(".badge")).to_have_text("done")
    assert "In two lines." in json.dumps(model.requests[1]["messages"])

    await page.get_by_label("Send a follow-up").fill("And this?")
    await page.get_by_label("Files").set_input_files([file("more.txt", "The sky is high.")])
    await page.get_by_role("button", name="Send").click()
    await expect(head).to_contain_text("in turn 3")
    model.text("{{artifact:table:seas}} High.")
    model.end()
    await expect(head.locator(".badge")).to_have_text("done")
    assert "The sky is high." in json.dumps(model.requests[2]["messages"])
    (run,) = await studio.world.archive.runs()
    assert (await studio.world.archive.replay(run)).identical
