"""Every view of the studio in a browser: width, contrast, names, targets, keyboard, silence."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scene_list import SCENES, Scene
from scenes import FormingModel, scenery
from studio_kit import Studio, browsing, entered, expect, fixture

from needs import has, reason
from sampling import EXPLORE, one_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("studio-views"),
    pytest.mark.skipif(not has("chromium"), reason=reason("chromium")),
]

WIDTHS = (1200, 768, 320)
ZOOMED = 640
"""The width of a window of 1280 pixels at 200 %."""

AXE = Path(os.environ.get("CONFORMANCE_DIR", ""), "node_modules", "axe-core", "axe.min.js")
HAS_AXE = AXE.exists()
SCRIPT = AXE.read_text("utf-8") if HAS_AXE else "// no axe"
"""The script of axe-core, which ``make test`` installs."""

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "rules": {"target-size": {"enabled": True}},
    "iframes": False,  # the report has tests of its own
    "preload": {"assets": ["media"]},  # no rule here asks for the style sheets once more
    "resultTypes": ["violations"],
}
COLOR_RULES = {
    **RULES,
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
"""The second theme changes nothing but colours: these rules find what that may break."""

WIDE = "document.documentElement.scrollWidth"

VIOLATIONS = """(rules) => axe.run(document, rules).then((found) => found.violations.flatMap(
    (one) => one.nodes.map((node) => one.id + ': ' + node.html.slice(0, 200))))"""

CONTROLS = """[...document.querySelectorAll(
    'a[href], button, input, textarea, select, summary, [tabindex="0"]')]
    .filter((one) => one.type !== 'hidden' && one.checkVisibility())"""

FOCUSED = f"""() => {{
    const one = document.activeElement;
    if (!one || one === document.body || one.localName === 'iframe') return null;
    const style = getComputedStyle(one);
    const is_marked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    const box = one.getBoundingClientRect();
    const is_in_view = box.width > 0 && box.bottom > 0 && box.top < innerHeight;
    return [{CONTROLS}.indexOf(one), is_marked, is_in_view];
}}"""
"""The number of the control that has the focus, and whether one sees that."""

NAMED = f"(number) => {CONTROLS}[number].outerHTML.slice(0, 200)"

Scened = tuple[Studio, FormingModel]

WRITING = next(scene for scene in SCENES if scene.name == "run-writing")
WITH_CONTROLS = (
    "no-model",
    "home-options",
    "inbox",
    "run-done",
    "run-asks",
    "record",
    "artifact",
)
KEYED = [scene for scene in SCENES if scene.name in WITH_CONTROLS]
"""Views that have every kind of control."""


@fixture(scope="module")
async def scened(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Scened]:
    async with scenery(tmp_path_factory.mktemp("scenes")) as found:
        yield found


@fixture(scope="module")
async def studio(scened: Scened) -> Studio:
    return scened[0]


@fixture(scope="module")
async def page(studio: Studio, started_browser: Any) -> AsyncIterator[Any]:
    async with browsing(started_browser) as browser:
        opened, broken = await browser.new_page(), list[str]()
        opened.on("response", lambda got: broken.append(got.url) if is_broken(got) else None)
        await entered(opened, studio)
        async with await opened.add_init_script(SCRIPT):  # the browser gets it once
            yield opened
        browser.said[:] = [line for line in browser.said if "404 (Not Found)" not in line]
        assert broken == []


def is_broken(answer: Any) -> bool:
    """Whether a part of a page was not there: of a page, the scenes show it."""
    return answer.status >= 400 and not answer.request.is_navigation_request()


LOOKS = [(theme, width) for theme in ("light", "dark") for width in WIDTHS]


class Looks(NamedTuple):
    """The width of a scene at each width of the window, and its faults.

    Faults are looked for in one theme and at one width, which each commit draws for each scene.
    """

    wide: dict[int, int]
    violations: dict[tuple[str, int], list[str]]


@fixture(scope="module", params=SCENES, ids=lambda scene: scene.name)
async def seen(request: pytest.FixtureRequest, page: Any, scened: Scened) -> Looks:
    """A scene, arranged once and seen at each width once."""
    scene: Scene = request.param
    await look(page, scened, scene)
    looks = one_of(LOOKS, purpose=f"axe and {scene.name}") if HAS_AXE else []
    found = Looks({}, {})
    for width in sorted((*WIDTHS, ZOOMED), key=lambda width: ("dark", width) in looks):
        await page.set_viewport_size({"width": width, "height": 900})
        found.wide[width] = await page.evaluate(WIDE)
        if ("light", width) in looks:
            found.violations["light", width] = await page.evaluate(VIOLATIONS, RULES)
    dark = [width for theme, width in looks if theme == "dark"]
    if dark:
        await page.emulate_media(color_scheme="dark")
    for width in dark:
        await page.set_viewport_size({"width": width, "height": 900})
        found.violations["dark", width] = await page.evaluate(VIOLATIONS, COLOR_RULES)
    return found


async def look(page: Any, scened: Scened, scene: Scene) -> None:
    studio, model = scened
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size({"width": 1200, "height": 900})
    await page.goto(scene.address(studio))
    if scene.arrange is not None:
        await scene.arrange(page, model)


@pytest.mark.req("studio-reflow")
async def test_nothing_scrolls_sideways(seen: Looks) -> None:
    assert sorted(seen.wide) == sorted((*WIDTHS, ZOOMED))
    assert {width: wide for width, wide in seen.wide.items() if wide > width} == {}


@pytest.mark.req("studio-accessible")
@pytest.mark.skipif(not HAS_AXE, reason=reason("axe-core"))
async def test_axe_finds_nothing(seen: Looks) -> None:
    assert len(seen.violations) == (len(LOOKS) if EXPLORE else 1)
    assert {look: found for look, found in seen.violations.items() if found} == {}


@pytest.mark.req("studio-keyboard")
@pytest.mark.parametrize("keyed", KEYED, ids=lambda scene: scene.name)
async def test_the_keyboard_reaches_every_control_and_shows_where_it_is(
    page: Any, scened: Scened, keyed: Scene
) -> None:
    await look(page, scened, keyed)
    count = await page.evaluate(f"{CONTROLS}.length")
    reached = set[int]()
    for _ in range(6 * count):  # a report in a frame has controls of its own
        if len(reached) == count:
            break
        await page.keyboard.press("Tab")
        if (found := await page.evaluate(FOCUSED)) is not None:
            assert found == [found[0], True, True], await page.evaluate(NAMED, found[0])
            reached.add(found[0])
    missed = set(range(count)) - reached
    assert [await page.evaluate(NAMED, number) for number in missed] == []


@pytest.mark.req("studio-keyboard")
async def test_the_first_control_skips_to_the_content(page: Any, studio: Studio) -> None:
    await page.goto(f"{studio.url}/runs/sale")
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()


@pytest.mark.req("studio-motion")
async def test_nothing_moves_for_those_who_want_that(page: Any, scened: Scened) -> None:
    await look(page, scened, WRITING)
    await expect(page.get_by_text("newsletter of week 41")).to_be_visible()
    for preference, moves in (("no-preference", True), ("reduce", False)):
        await page.emulate_media(reduced_motion=preference)
        assert await page.evaluate("document.getAnimations().length > 0") is moves


@pytest.mark.req("studio-framed")
@pytest.mark.parametrize(
    ("path", "framed"),
    [
        (
            "/runs/sale",
            (
                ".course details.from-model > .from + .text",
                ".report .from + iframe",
                ".ticks > .from",
            ),
        ),
        ("/runs/family", (".course div.from-model > .from + .text",)),
        ("/runs/asks", (".question > .from + pre",)),
        ("/runs/plan", (".question > .plan > .from + h4",)),
    ],
)
async def test_what_the_model_wrote_is_framed(
    page: Any, studio: Studio, path: str, framed: tuple[str, ...]
) -> None:
    await page.goto(studio.url + path)
    for one in framed:
        await expect(page.locator(one)).to_have_count(1)
    await expect(page.locator(".from", has_text="From the model").first).to_be_visible()


@pytest.mark.req("studio-framed")
async def test_what_the_model_is_writing_is_framed(page: Any, scened: Scened) -> None:
    await look(page, scened, WRITING)
    said = await page.evaluate(
        "getComputedStyle(document.getElementById('forming'), '::before').content"
    )
    assert "From the model" in said
