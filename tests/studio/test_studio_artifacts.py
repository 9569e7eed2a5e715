"""Artifacts in a real browser: sorted, filtered, copied, saved, compared, pointed at."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from revised import FILES, revised
from studio_kit import Studio, entered, expect


@pytest.mark.browser
@pytest.mark.req("studio-tables")
async def test_a_table_is_sorted_filtered_copied_and_saved_at_once(
    served: Studio, page: Any
) -> None:
    await revised(served.world)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await entered(page, served)
    await page.goto(f"{served.url}/runs/r/artifacts/table:cities?version=1")
    names = page.locator("tbody tr:visible > :first-child")
    people = page.get_by_role("columnheader", name="People")
    orders = (
        ("ascending", ["=cmd()", "Oslo", "Rome", "Łódź"]),
        ("descending", ["Rome", "Oslo", "=cmd()", "Łódź"]),
        (None, ["Rome", "Oslo", "Łódź", "=cmd()"]),
        ("ascending", ["=cmd()", "Oslo", "Rome", "Łódź"]),
    )
    for direction, expected in orders:
        await people.get_by_role("link").click()
        await expect(names).to_have_text(expected)
        if direction:
            await expect(people).to_have_attribute("aria-sort", direction)
    await page.get_by_label("Filter rows").fill("M")
    await expect(names).to_have_text(["=cmd()", "Rome"])
    await expect(page.get_by_text("2 of 4 rows")).to_be_visible()
    await page.get_by_role("button", name="Copy").click()
    await expect(page.get_by_text("Copied 2 rows.")).to_be_visible()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == ("City\tPeople\tFounded\n'=cmd()\t12\t1999-01-01\nRome\t2873000\t0753-04-21")
    await page.reload()  # the address holds the order and the filter
    await expect(names).to_have_text(["=cmd()", "Rome"])
    async with page.expect_download() as download:
        await page.get_by_role("link", name="as csv").click()
    assert (await download.value).suggested_filename == "cities.csv"


@pytest.mark.browser
@pytest.mark.req("studio-versions")
async def test_versions_are_compared_from_the_page_of_a_run(served: Studio, page: Any) -> None:
    await revised(served.world)
    await entered(page, served)
    tabs = page.get_by_role("navigation", name="This run")
    await page.goto(f"{served.url}/runs/r")
    await tabs.get_by_role("link", name="Artifacts").click()
    await page.get_by_role("link", name="People", exact=True).click()
    await page.get_by_role("link", name="what changed").click()
    await expect(page.locator("ins", has_text="29")).to_be_visible()
    await expect(page.locator("[data-marks] svg")).to_have_count(2)
    await tabs.get_by_role("link", name="Artifacts").click()
    await page.get_by_role("link", name="The report", exact=True).click()
    frame = page.frame_locator("iframe")
    await expect(frame.get_by_text("A new one.")).to_be_visible()
    async with page.expect_download() as download:
        await frame.get_by_role("link", name="Save as CSV").first.click()
    assert (await download.value).suggested_filename == "cities.csv"
    await page.get_by_role("link", name="Version 1").click()
    await expect(frame.get_by_text("The end.")).to_be_visible()
    await page.get_by_label("Compare version").select_option("1")
    await page.get_by_label("with version").select_option("2")
    await page.get_by_role("button", name="Show what changed").click()
    await expect(page.locator("ins", has_text="very")).to_be_visible()


@pytest.mark.browser
@pytest.mark.req("studio-charts")
async def test_a_chart_shows_the_value_of_a_mark_and_its_data(served: Studio, page: Any) -> None:
    await revised(served.world)
    await entered(page, served)
    await page.goto(f"{served.url}/runs/r/artifacts/chart:people")
    tip = page.locator(".tip")
    bars = page.locator(".broad path[fill='#0072b2']")
    await expect(tip).to_be_hidden()
    await bars.nth(2).hover()
    await expect(tip).to_have_text("Paris: 21")
    await page.locator("[data-marks]").focus()
    await page.keyboard.press("Escape")
    await expect(tip).to_be_hidden()
    await page.keyboard.press("ArrowRight")
    await expect(tip).to_have_text("Rome: 29")
    await page.keyboard.press("ArrowRight")
    await expect(tip).to_have_text("Oslo: 7")
    await page.set_viewport_size({"width": 360, "height": 800})
    await page.locator(".slim path[fill='#0072b2']").nth(0).hover()
    await expect(tip).to_have_text("Rome: 29")
    await page.get_by_text("Show data").click()
    await expect(page.get_by_role("cell", name="21")).to_be_visible()
    await expect(page.get_by_text("Numbers typed by the model.").first).to_be_visible()


@pytest.mark.browser
@pytest.mark.req("studio-previews")
async def test_a_hostile_file_is_shown_and_saved_and_does_nothing(
    served: Studio, page: Any
) -> None:
    await revised(served.world)
    await entered(page, served)
    for name in ("people.csv", "page.html", "dot.png"):
        await page.goto(f"{served.url}/runs/r/artifacts")
        await page.get_by_role("link", name=name).click()
        await expect(page.get_by_role("heading", name=name)).to_be_visible()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download").click()
        saved = await (await download.value).path()
        assert saved.read_bytes() == FILES[name]
    size = "image => image.complete && image.naturalWidth"
    await expect(page.get_by_role("img", name="dot.png")).to_be_visible()
    await page.wait_for_function(f"({size})(document.querySelector('.picture img')) === 1")


@pytest.mark.req("studio-charts")
async def test_a_chart_is_in_the_page_without_a_script(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await revised(served.world)
    text = (await client.get("/runs/r/artifacts/chart:people")).text
    assert "<title>Paris: 21</title>" in text and "Show data" in text
    assert not re.search(r"<svg[^>]* (on\w+|style)=", text)
