"""Drawings in a real browser: the rebuilt one looks like the written one, and asks for nothing."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from render_browser import CHROMIUM, Chromium, Page

from artificer.artifacts.svg.rebuild import rebuild
from needs import reason

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("render-browser"),
    pytest.mark.req("svg-same-picture"),
    pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium")),
]

CASES = Path(__file__).parents[1] / "cases" / "artifacts" / "svg_benign.json"
BENIGN = [
    case
    for case in json.loads(CASES.read_text("utf-8"))
    if re.search(r"<svg[^>]* width=[^>]*>", case["markup"])
    and "xmlns=" in case["markup"]
    and "&nbsp;" not in case["markup"]
    and not re.search(r"<svg[^>]* xml:space", case["markup"])
]
"""Those that a browser shows as they were written: with a size, a namespace and known entities.

Chromium does not pass ``xml:space`` on from a drawing to its texts, as XML 1.0 section 2.10 has it.
"""

COMPARE = """(async ([before, after, scale]) => {
    const drawn = async (source) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [image.width * scale, image.height * scale];
        const context = canvas.getContext('2d');
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        return context.getImageData(0, 0, canvas.width, canvas.height);
    };
    const [one, other] = [await drawn(before), await drawn(after)];
    let worst = 0, differing = 0, inked = 0;
    for (let i = 0; i < one.data.length; i++) {
        const difference = Math.abs(one.data[i] - other.data[i]);
        worst = Math.max(worst, difference);
        differing += difference > 1;
        inked += one.data[i] > 0;
    }
    return {sizes: [one.width, one.height, other.width, other.height], worst, differing, inked};
})"""


@pytest.fixture(scope="module")
def page(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("drawings")
    (folder / "empty.html").write_text("<!DOCTYPE html><meta charset=utf-8><p>", "utf-8")
    with chromium.page() as opened:
        opened.open(folder / "empty.html")
        yield opened


def compared(page: Page, before: str, after: str) -> dict[str, Any]:
    arguments = json.dumps([data(before), data(after), 2])
    found = page.call(
        "Runtime.evaluate",
        expression=f"{COMPARE}({arguments})",
        awaitPromise=True,
        returnByValue=True,
    )
    assert "exceptionDetails" not in found, found
    value: dict[str, Any] = found["result"]["value"]
    return value


def data(markup: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(markup.encode()).decode()


@pytest.mark.parametrize("case", BENIGN, ids=lambda case: case["name"])
def test_the_rebuilt_drawing_has_the_same_pixels(page: Page, case: dict[str, Any]) -> None:
    rebuilt = rebuild(case["markup"], "x-")
    assert isinstance(rebuilt, str)
    found = compared(page, case["markup"], rebuilt)
    assert found["sizes"][:2] == found["sizes"][2:]
    assert found["inked"] > 100
    assert found["differing"] == 0, found


def test_this_test_sees_a_difference(page: Page) -> None:
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
    drawing = head + '<path d="M0 0h9v{}H0z"/></svg>'
    assert compared(page, drawing.format(9), drawing.format(8))["differing"] > 0


def test_nothing_was_asked_for(page: Page) -> None:
    markup = "".join(str(rebuild(case["markup"], f"d{n}-")) for n, case in enumerate(BENIGN))
    page.value(f"void (document.body.innerHTML = {json.dumps(markup)})")
    asked = [e["request"]["url"] for e in page.reported("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert any(url.startswith("data:") for url in asked)
