"""The report with everything in it, in a browser: contrast, width, silence, and axe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import render_rich
from render_browser import CHROMIUM, Chromium, Page
from render_sample import report
from test_render_browser import assert_quiet

from artificer.render.html import to_html
from needs import reason
from sampling import one_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("render-browser"),
    pytest.mark.req("html-browser-accessible"),
    pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium")),
]

WIDTHS = (390, 768, 1200)
THEMES = ("light", "dark")
AXE = Path(os.environ.get("CONFORMANCE_DIR", ""), "node_modules", "axe-core", "axe.min.js")
"""The script of axe-core, which ``make test`` installs."""

CONTRAST = """(() => {
    const part = (c) => { c /= 255; return c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
    const light = ([r, g, b]) => .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
    const rgb = (s) => s.match(/[\\d.]+/g).map(Number);
    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m);
        return (x + .05) / (y + .05); };
    const paper = rgb(getComputedStyle(document.body).backgroundColor);
    const over = (p, below) => { const s = getComputedStyle(p);
        const alpha = +s.opacity * +s.fillOpacity; const c = rgb(s.fill);
        return c.slice(0, 3).map((v, i) => v * alpha + below[i] * (1 - alpha)); };
    const bad = [];
    for (const svg of document.querySelectorAll('.chart svg')) {
        if (!svg.checkVisibility()) continue;
        const shapes = [...svg.querySelectorAll('path, rect')]
            .filter((shape) => getComputedStyle(shape).fill !== 'none')
            .map((shape) => [shape, shape.getScreenCTM().inverse()]);
        for (const text of svg.querySelectorAll('text')) {
            if (!text.textContent.trim() || !text.checkVisibility()) continue;
            const box = text.getBoundingClientRect();
            const point = new DOMPoint(box.left + box.width / 2, box.top + box.height / 2);
            let ground = paper;
            for (const [shape, inverse] of shapes)
                if (shape.isPointInFill(point.matrixTransform(inverse)))
                    ground = over(shape, ground);
            const found = ratio(rgb(getComputedStyle(text).fill), ground);
            if (found < 4.5) bad.push([text.textContent, +found.toFixed(2)]);
        }
    }
    return bad;
})()"""
"""The words in charts with too little contrast to what was painted below them."""

RULES: dict[str, Any] = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
"""The dark theme changes nothing but colours: these rules find what that may break."""

RULED = [
    (width, theme) for theme in THEMES for width in one_of(WIDTHS, purpose=f"axe, {theme}, report")
]
"""The widths at which axe looks: each commit draws one for each theme."""


@pytest.fixture(scope="module")
def page(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("rich")
    made = to_html(report(render_rich.NARRATIVE, render_rich.CALLS))
    (folder / "rich.html").write_text(made, "utf-8")
    with chromium.page() as opened:
        opened.open(folder / "rich.html")
        yield opened


def at(page: Page, width: int, theme: str) -> None:
    page.emulate(prefers_color_scheme=theme)
    size: dict[str, Any] = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **size)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_words_in_charts_have_contrast_and_nothing_scrolls_sideways(
    page: Page, width: int, theme: str
) -> None:
    at(page, width, theme)
    assert page.value(CONTRAST) == []
    assert page.value("document.documentElement.scrollWidth") <= width


def test_this_test_sees_words_without_contrast(page: Page) -> None:
    at(page, 1200, "light")
    change = "document.querySelector('#chart-gaps .broad text').style.fill = '{}'"
    page.value(change.format("#cccccc"))
    found = page.value(CONTRAST)
    page.value(change.format(""))
    assert len(found) == 1


def test_it_asks_for_nothing_and_runs_no_script(page: Page) -> None:
    assert_quiet(page)
    assert page.value("document.scripts.length") == 0


@pytest.mark.skipif(not AXE.exists(), reason=reason("axe-core"))
@pytest.mark.parametrize(("width", "theme"), RULED)
def test_axe_finds_nothing(page: Page, width: int, theme: str) -> None:
    at(page, width, theme)
    if page.value("typeof axe") == "undefined":
        page.value(AXE.read_text("utf-8") + ";0")
    run = f"axe.run(document, {{runOnly: {json.dumps(RULES[theme])}}}).then((r) => r.violations)"
    done = page.call("Runtime.evaluate", expression=run, awaitPromise=True, returnByValue=True)
    assert [found["id"] for found in done["result"]["value"]] == []
