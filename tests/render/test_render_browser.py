"""The page in a real browser: what people will see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import render_rich
from render_browser import CHROMIUM, Chromium, Page
from render_sample import report
from test_render_hostile import HOSTILE, calls

from artificer.render.html import to_html
from needs import reason

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("render-browser"),
    pytest.mark.req("html-in-a-browser"),
    pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium")),
]


@pytest.fixture(scope="module")
def page(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(to_html(report()), "utf-8")
    with chromium.page() as opened:
        opened.open(folder / "report.html")
        yield opened


def colours(page: Page) -> dict[str, str]:
    """The computed colours of the paper, of the words and of a chart's first series."""
    script = """(() => {
        const style = (selector) => getComputedStyle(document.querySelector(selector));
        return {
            paper: style('body').backgroundColor,
            words: style('main > p').color,
            bar: style('#chart-cost path[fill="#0072b2"]').fill,
            axis: style('#chart-cost text').fill,
        };
    })()"""
    found: dict[str, str] = page.value(script)
    return found


def assert_quiet(page: Page) -> None:
    """No complaint in the console, no broken policy, and no request but for the file itself."""
    complaints = page.reported(
        "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded"
    )
    assert complaints == []
    asked = [e["request"]["url"] for e in page.reported("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert any(url.startswith("file:") for url in asked)


def test_it_breaks_no_rule_of_its_own_and_asks_for_nothing(page: Page) -> None:
    assert_quiet(page)


def test_its_words_are_seen(page: Page) -> None:
    seen = page.value("document.body.innerText")
    for words in ("Checkout latency, third quarter", "Figure 1", "of 4 done", "Save as CSV"):
        assert words in seen
    assert "W38" in page.value("document.querySelector('#chart-latency svg').textContent")
    hidden = "getComputedStyle(document.querySelector('figure caption')).position"
    assert page.value(hidden) == "absolute"


def test_every_figure_has_its_size(page: Page) -> None:
    script = """[...document.querySelectorAll('figure svg, figure img')]
        .filter((e) => e.checkVisibility())
        .map((e) => [e.getBoundingClientRect().width, e.getBoundingClientRect().height])"""
    sizes = page.value(script)
    assert len(sizes) == 7
    assert all(width > 300 and height > 100 for width, height in sizes)


def test_light_and_dark_differ_in_every_colour(page: Page) -> None:
    page.emulate(prefers_color_scheme="light")
    light = colours(page)
    page.emulate(prefers_color_scheme="dark")
    dark = colours(page)
    page.emulate()
    assert light["paper"] == "rgb(255, 255, 255)"
    assert all(light[name] != dark[name] for name in light)


def test_print_is_light_and_has_the_data_if_a_reader_wants_it(page: Page) -> None:
    page.emulate("print", prefers_color_scheme="dark")
    height = "document.querySelector('#chart-cost details').getBoundingClientRect().height"
    without, paper = page.value(height), colours(page)["paper"]
    page.value("document.querySelector('.with-data').click()")
    printed = page.value(height)
    page.value("document.querySelector('.with-data').click()")
    page.emulate()
    assert paper == "rgb(255, 255, 255)"
    assert without == 0 and printed > 100


@pytest.mark.req("html-tally")
def test_the_tally_follows_the_boxes(page: Page) -> None:
    """A counter of the style sheet counts them; what it shows is only in the picture."""
    counter = "getComputedStyle(document.querySelector('.checklist .done'), '::before').content"
    assert page.value(counter) == "counter(done)"
    shown = """(() => { const b = document.querySelectorAll('.checklist input');
        const tree = document.querySelector('.tally').offsetTop < b[0].offsetTop;
        return [tree, [...b].every((e) => getComputedStyle(e).counterIncrement ===
            (e.checked ? 'done 1' : 'none'))]; })()"""
    assert page.value(shown) == [True, True]
    page.value("document.querySelector('.checklist input').click()")
    assert page.value(shown) == [True, True]


@pytest.mark.req("html-wide-tables")
def test_a_wide_table_keeps_its_headings_in_view_and_is_whole_in_print(
    chromium: Chromium, tmp_path: Path
) -> None:
    wide = [call for call in render_rich.TABLES if call[1]["table"]["id"] == "wide"]
    (tmp_path / "wide.html").write_text(to_html(report("{{artifact:table:wide}}", wide)), "utf-8")
    with chromium.page() as page:
        page.open(tmp_path / "wide.html")
        script = """(() => { const f = document.querySelector('.scroll');
            f.scrollLeft = 400; f.scrollTop = 300;
            const box = (s) => f.querySelector(s).getBoundingClientRect();
            const frame = f.getBoundingClientRect();
            return [f.scrollWidth > f.clientWidth, Math.round(box('thead th').left - frame.left),
                Math.round(box('thead th').top - frame.top),
                Math.round(box('tbody tr:nth-child(9) th').left - frame.left)]; })()"""
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=600,
            height=700,
            deviceScaleFactor=1,
            mobile=False,
        )
        assert page.value(script) == [True, 0, 0, 0]
        page.call("Emulation.clearDeviceMetricsOverride")
        page.emulate("print")
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=1000,
            height=700,
            deviceScaleFactor=1,
            mobile=False,
        )
        cut = "document.querySelector('table').getBoundingClientRect().right > innerWidth"
        assert page.value(cut) is False


def test_a_phone_shows_it_without_scrolling_the_page_sideways(page: Page) -> None:
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=360,
        height=740,
        deviceScaleFactor=1,
        mobile=True,
    )
    width = page.value("document.documentElement.scrollWidth")
    page.call("Emulation.clearDeviceMetricsOverride")
    assert width <= 360


def test_an_in_page_link_leads_to_its_figure(page: Page) -> None:
    broken = """[...document.querySelectorAll('a[href^="#"]')]
        .filter((a) => !document.getElementById(a.hash.slice(1))).length"""
    assert page.value(broken) == 0


def test_hostile_reports_stay_quiet_in_the_browser(chromium: Chromium, tmp_path: Path) -> None:
    narrative = "\n\n".join(HOSTILE) + "\n\n<script>alert(1)</script><img src=https://x.example>"
    (tmp_path / "hostile.html").write_text(
        to_html(report(narrative, calls(" ".join(HOSTILE[:2])[:60]), title=HOSTILE[0])), "utf-8"
    )
    with chromium.page() as page:
        page.open(tmp_path / "hostile.html")
        assert_quiet(page)
        assert page.value("document.scripts.length") == 0


@pytest.mark.req("binding-apart")
@pytest.mark.parametrize("formula", [r"\rlap{1}", r"\mathrlap{17}", r"\rlap{\text{17.}}"])
def test_no_formula_lies_upon_the_words_after_it(
    chromium: Chromium, tmp_path: Path, formula: str
) -> None:
    path = tmp_path / "formula.html"
    wide = r"$\hspace{90em}$"
    path.write_text(to_html(report(f"# T\n\n${formula}$ 7,357 B\n\n{wide} wide", [])), "utf-8")
    script = """(() => {
        const words = new Range();
        words.selectNode(document.querySelector('math').nextSibling);
        return [...document.querySelectorAll('math :is(mi, mn, mtext)')].map((e) =>
            e.getBoundingClientRect().right <= words.getBoundingClientRect().left + 0.5);
    })()"""
    with chromium.page() as page:
        page.open(path)
        assert set(page.value(script)) == {True}
        assert page.value("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.req("html-prose")
def test_a_formula_keeps_its_spaces_and_what_strikes_a_sign(
    chromium: Chromium, tmp_path: Path
) -> None:
    path = tmp_path / "formula.html"
    path.write_text(to_html(report(r"$a\quad b$ and $\not= c$", [])), "utf-8")
    with chromium.page() as page:
        page.open(path)
        widths = "[...document.querySelectorAll('mspace, mpadded')].map((e) => e.offsetWidth ??"
        assert page.value(f"{widths} e.getBoundingClientRect().width)") == [17, 0]
