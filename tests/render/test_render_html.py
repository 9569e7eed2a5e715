"""The page: whole, closed to the world, and readable by everyone."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import subprocess
import sys
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from render_page import Element, parse
from render_sample import CALLS, report

from artificer.artifacts.deliverable import Deliverable
from artificer.render.html import to_html
from artificer.render.report import Report
from artificer.render.text import clean


@pytest.fixture(scope="module")
def markup() -> str:
    return to_html(report())


@pytest.fixture(scope="module")
def page(markup: str) -> Element:
    return parse(markup)


def chart(name: str) -> tuple[str, dict[str, object]]:
    return ("create_bar_chart", bar(name))


def bar(name: str) -> dict[str, object]:
    return {
        "id": name,
        "title": f"Chart {name}",
        "labels": ["a", "b"],
        "series": [{"name": "s", "values": [1, 2]}],
    }


@pytest.mark.req("html-closed")
class TestClosed:
    def test_there_is_no_script_and_no_inline_style(self, page: Element) -> None:
        assert not page.all("script")
        for element in page.descendants():
            assert not [a for a in element.attributes if a.startswith("on") or a == "style"]

    def test_the_policy_allows_nothing_but_this_style_and_data_images(self, page: Element) -> None:
        policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
        style = hashlib.sha256(page.one("style").text.encode()).digest()
        assert policy.split("; ") == [
            "default-src 'none'",
            f"style-src 'sha256-{base64.b64encode(style).decode()}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]

    def test_only_links_of_the_narrative_lead_out(self, page: Element) -> None:
        targets = [e.attributes["href"] for e in page.all("a")]
        outside = [t for t in targets if not t.startswith(("#", "data:"))]
        assert outside == ["https://example.org/q3"]
        link = page.one("a", href=outside[0])
        assert link.attributes["rel"] == "noopener noreferrer"
        assert all(i.attributes["src"].startswith("data:image/svg+xml") for i in page.all("img"))
        assert "url(" not in page.one("style").text


@pytest.mark.req("html-deterministic")
def test_the_same_report_gives_the_same_bytes(markup: str) -> None:
    assert to_html(report()) == markup


@pytest.mark.req("html-citations")
class TestCitations:
    def test_every_citation_is_resolved_where_it_stands(self, page: Element) -> None:
        assert "{{" not in page.one("main").text
        assert len(page.all(class_="artifact")) == len(CALLS)
        ids = [e.attributes["id"] for e in page.descendants() if "id" in e.attributes]
        assert len(ids) == len(set(ids))
        for link in page.all("a"):
            target = link.attributes["href"]
            assert not target.startswith("#") or target[1:] in ids

    def test_artifacts_follow_the_paragraph_that_cites_them(self) -> None:
        page = parse(to_html(report("As {{artifact:chart:x}} says.\n\nLater.", [chart("x")])))
        paragraph, figure, later = page.one("main").children[2:5]
        assert paragraph.text == "As Figure 1 says."
        assert paragraph.one("a").attributes["href"] == "#" + figure.attributes["id"]
        assert figure.tag == "figure"
        assert later.text == "Later."

    def test_a_second_citation_is_a_link_to_the_first(self) -> None:
        text = "{{artifact:chart:x}}\n\nBetween.\n\n{{artifact:chart:x}}"
        page = parse(to_html(report(text, [chart("x")])))
        assert len(page.all("figure")) == 1
        assert page.one("main").children[-2].text == "See Figure 1 above."

    def test_a_missing_one_is_a_card_and_the_banner_says_so(self) -> None:
        text = "Intro {{artifact:chart:y}}.\n\n{{artifact:table:x}}\n\n{{artifact:video:z}}"
        page = parse(to_html(report(text, [], status="partial", note="Out of turns.")))
        marked = [e.text for e in page.all(class_="missing")]
        assert marked[:2] == ["missing: chart:y", "missing: table:x"]
        assert "{{artifact:video:z}}" in marked[2]
        banner = page.one("aside", class_="banner").text
        assert "incomplete" in banner
        assert "Out of turns." in banner
        for subject in ("chart:y", "table:x", "{{artifact:video:z}}"):
            assert subject in banner

    def test_a_payload_that_is_lost_is_marked_too(self) -> None:
        whole = report("{{artifact:chart:x}}", [chart("x")])
        page = parse(to_html(Report("T", whole.deliverable, {}, whole.provenance)))
        assert page.one(class_="missing").text == "missing: chart:x"

    def test_code_shows_a_placeholder_as_it_is_written(self) -> None:
        text = (
            "`{{artifact:chart:x}}`\n\n```\n{{artifact:chart:x}}\n```\n\n    {{artifact:chart:x}}"
        )
        page = parse(to_html(report(text, [chart("x")])))
        codes = [c.text.strip() for c in page.one("main").all("code")]
        assert codes[:3] == ["{{artifact:chart:x}}"] * 3
        assert page.one("h2").text == "Also made"

    @pytest.mark.parametrize(
        "text",
        [
            "[the chart]({{artifact:chart:x}})",
            "![a picture]({{artifact:chart:x}})",
            "**{{artifact:chart:x}}** is bold",
            "> quoted {{artifact:chart:x}}",
            "- item {{artifact:chart:x}}",
            "# Heading {{artifact:chart:x}}",
            "[see {{artifact:chart:x}} there](https://example.org)",
            "[there](https://example.org/{{artifact:chart:x}})",
            "_{{artifact:chart:x}}_",
            "Setext {{artifact:chart:x}}\n===",
            "1. one\n\n   > {{artifact:chart:x}}",
            "| a |\n|---|\n| {{artifact:chart:x}} |",
            "{{ Artifact : CHART : x }}",
            "line {{artifact:chart:\nx}} broken",
        ],
    )
    def test_a_citation_is_found_wherever_markdown_allows_one(self, text: str) -> None:
        page = parse(to_html(report(text, [chart("x")])))
        assert len(page.all("figure")) == 1
        assert "Also made" not in page.one("main").text
        whole = page.one("main").text + " ".join(a.attributes["href"] for a in page.all("a"))
        assert not re.search(r"[0-9a-f]{20}n\d", whole)

    def test_what_nobody_cites_comes_last(self) -> None:
        page = parse(to_html(report("Words.", [chart("x"), chart("y")])))
        tags = [(e.tag, e.attributes.get("id")) for e in page.one("main").children[-4:-1]]
        assert tags == [("h2", None), ("figure", "chart-x"), ("figure", "chart-y")]

    def test_the_narratives_own_title_is_the_pages(self) -> None:
        page = parse(to_html(report("# Its *own*\n\n# Another\n\ntext", [])))
        assert [h.text for h in page.all("h1")] == ["Its own"]
        assert [h.text for h in page.all("h2")] == ["Another"]
        page = parse(to_html(report("#\n\ntext", [], title="Given")))
        assert page.all("h1")[0].text == "Given"

    def test_a_narrative_cannot_forge_a_mark(self) -> None:
        text = "artifact00000000000000000000n0z {{artifact:chart:x}}"
        page = parse(to_html(report(text, [chart("x")])))
        assert page.one("main").children[2].text.startswith("artifact00000000000000000000n0z ")


@pytest.mark.req("html-accessible")
class TestAccessible:
    def test_a_chart_is_a_named_image_with_its_data_in_a_table(self, page: Element) -> None:
        charts = page.all("figure", class_="chart")
        assert len(charts) == 6
        for figure in charts:
            assert figure.one("figcaption").text.startswith("Figure ")
            image = figure.all("svg", role="img")[0]
            named = image.attributes["aria-labelledby"].split()
            title, description = (image.one(id=name) for name in named)
            assert (title.tag, description.tag) == ("title", "desc")
            assert title.text
            assert description.text.endswith(".")
            assert figure.one("details").one("summary").text == "Data"
            assert figure.one("details").one("table").one("caption").text

    def test_the_data_table_is_complete_and_exact(self, page: Element) -> None:
        rows = page.one(id="chart-cost").one("tbody").all("tr")
        cells = [[cell.text for cell in row.children] for row in rows]
        assert cells[2] == ["Jul", "41", "4.5", "9"]
        assert len(cells) == 5

    def test_a_table_has_a_caption_scopes_and_a_focusable_frame(self, page: Element) -> None:
        table = page.one(id="table-regions")
        assert table.one("caption").text.startswith("Table 1")
        assert {c.attributes["scope"] for c in table.one("thead").all("th")} == {"col"}
        assert {c.attributes["scope"] for c in table.one("tbody").all("th")} == {"row"}
        frame = table.one(class_="scroll").attributes
        assert (frame["tabindex"], frame["role"]) == ("0", "region")
        assert frame["aria-label"]

    def test_numbers_are_flush_right_and_null_is_named(self, page: Element) -> None:
        last = page.one(id="table-regions").one("tbody").all("tr")[-1].children
        assert [("num" in c.attributes.get("class", "")) for c in last] == [
            False,
            True,
            True,
            True,
            True,
            False,
        ]
        assert (last[4].text, last[4].attributes["aria-label"]) == ("—", "no value")

    def test_a_checklist_has_native_boxes_with_labels(self, page: Element) -> None:
        checklist = page.one(id="checklist-rollout")
        boxes = checklist.all("input", type="checkbox")
        assert [("checked" in b.attributes) for b in boxes] == [True, True, False, False]
        assert all(b.parent and b.parent.tag == "label" and b.parent.text for b in boxes)
        assert "2 of 4 done" in checklist.text
        caption = checklist.one("ul").attributes["aria-labelledby"]
        assert checklist.one(id=caption).text.startswith("Before the next review")

    def test_an_ordered_list_is_numbered(self, page: Element) -> None:
        assert len(page.one(id="list-risks").one("ol").all("li")) == 3

    def test_a_drawing_is_an_image_with_an_alternative(self, page: Element) -> None:
        image = page.one(id="svg-path").one("img").attributes
        assert image["alt"].startswith("The path of a checkout request. Browser, then edge")
        drawn = base64.b64decode(image["src"].partition(",")[2]).decode()
        assert drawn.startswith("<svg")

    def test_the_page_has_one_first_heading_and_a_language(self, page: Element) -> None:
        assert [h.text for h in page.all("h1")] == ["Checkout latency, third quarter"]
        assert page.one("html").attributes["lang"] == "en"
        assert page.one("head").one("title").text == "Checkout latency, third quarter"

    def test_text_of_any_direction_finds_its_own(self) -> None:
        page = parse(to_html(report("مرحبا\n\n## שלום\n\n- a", [])))
        directed = [e.tag for e in page.one("main").all(dir="auto")]
        assert directed == ["h1", "p", "h2", "li"]


@pytest.mark.req("html-downloads")
class TestDownloads:
    def test_a_file_shows_its_text_and_can_be_saved(self, page: Element) -> None:
        card = page.one(id="file-notes_2f_queries_2e_md")
        content = dict(CALLS)["create_file"]["content"]
        assert card.one("pre").text == content
        link = card.one("a").attributes
        assert link["download"] == "queries.md"
        assert base64.b64decode(link["href"].partition("base64,")[2]).decode() == content

    def test_a_table_saves_as_csv_that_no_spreadsheet_runs(self) -> None:
        cells = ["=1+1", "-5", "@x", '"quoted", with comma', None, -7, True, 2.5]
        lines = saved(["+head"], cells).removeprefix("\ufeff").split("\r\n")
        assert lines == [
            '"\'+head"',
            '"\'=1+1"',
            '"-5"',
            '"\'@x"',
            '"""quoted"", with comma"',
            '""',
            '"-7"',
            '"true"',
            '"2.5"',
            "",
        ]

    @pytest.mark.req("csv-formulas")
    @pytest.mark.parametrize("sign", list("=+-@＝＋－＠﹦﹢﹣﹫"))
    @pytest.mark.parametrize(
        "before",
        ["", " ", "\u00a0", "\ufeff", "\u200b", "\u2060\u202e", "\u3164", "\ufe0f", "\u3000"],
    )
    def test_a_formula_is_a_text_whatever_is_before_it(self, sign: str, before: str) -> None:
        formula = f"{before}{sign}1+cmd|' /C calc'!A0"
        assert rows([formula]) == [[f"'{formula}"]]

    @pytest.mark.req("csv-formulas")
    @pytest.mark.parametrize("blank", ["\t", "\r", "\n"])
    def test_a_text_that_begins_with_a_tab_or_a_line_end_is_a_text(self, blank: str) -> None:
        assert rows([blank + "x"]) == [[f"'{blank}x"]]
        assert rows([blank + "=x"]) == [[f"'{blank}'=x"]]

    @pytest.mark.req("csv-formulas")
    @pytest.mark.parametrize("separator", [";", "\t", "\n", "\r\n"])
    def test_no_other_separator_makes_a_cell_of_a_formula(self, separator: str) -> None:
        text = saved(["a"], [f'x{separator}=1+cmd|"/C calc"!A0{separator}-5'])
        for cell in re.split(r"[;\t\r\n,]", text):
            assert not cell.strip(' "').startswith("="), text
        assert "-5" in re.split(r"[;\t\r\n]", text.replace('"', ""))

    @pytest.mark.req("csv-formulas")
    @given(st.lists(st.text(max_size=30), min_size=1, max_size=5))
    def test_any_text_comes_back_but_for_apostrophes(self, cells: list[str]) -> None:
        read = rows(cells)
        assert len(read) == len(cells)
        for cell, (back,) in zip(cells, read, strict=True):
            assert back.replace("'", "") == clean(cell).replace("'", "")
            assert not back.lstrip().startswith(("=", "@", "＝", "＠"))


def saved(columns: list[str], cells: list[Any]) -> str:
    """The CSV behind the link of a table with one column."""
    table = {"kind": "table", "id": "t", "columns": columns, "rows": [[cell] for cell in cells]}
    page = parse(to_html(report("", [("create_table", {"table": table})])))
    return unquote(page.one("a", download="t.csv").attributes["href"].partition(",")[2])


def rows(cells: list[Any]) -> list[list[str]]:
    """The cells as a reader of CSV has them."""
    text = saved(["head"], cells).removeprefix("\ufeff")
    return list(csv.reader(io.StringIO(text, newline="")))[1:]


@pytest.mark.req("html-status")
@pytest.mark.parametrize("status", ["completed", "partial", "failed", "cancelled"])
def test_the_status_is_said_first_unless_all_is_well(status: str) -> None:
    page = parse(to_html(report("Words.", [], status=status, note="Because.")))  # type: ignore[arg-type]
    banners = page.all("aside", class_="banner")
    assert len(banners) == (status != "completed")
    assert all("Because." in banner.text for banner in banners)


@pytest.mark.req("html-status")
def test_the_footer_says_where_it_came_from_and_how_to_check(page: Element) -> None:
    footer = page.one("footer").text
    for fact in ("run-20261121-7f3a", "claude-sonnet-5", "2026-11-21T23:14:08Z", "sha256:"):
        assert fact in footer
    assert "artificer replay run-20261121-7f3a" in footer


@pytest.mark.req("charts-optional")
def test_a_chart_is_drawn_without_any_extra() -> None:
    script = (
        "import sys; sys.modules['vl_convert'] = None\n"
        "from artificer.artifacts.catalog import load\n"
        "from artificer.render.charts import to_svg\n"
        "print(to_svg(load(*eval(sys.argv[1]))))"
    )
    made = subprocess.run(
        [sys.executable, "-c", script, repr(chart("x"))], capture_output=True, text=True, check=True
    )
    assert "<path" in made.stdout


@pytest.mark.req("charts-optional")
def test_a_chart_that_cannot_be_drawn_does_not_spoil_the_report() -> None:
    far = {
        "id": "x",
        "labels": ["a", "b"],
        "series": [{"name": "s", "values": [1.7e308, -1.7e308]}],
    }
    page = parse(to_html(report("{{artifact:chart:x}}\n\nLater.", [("create_bar_chart", far)])))
    assert "too large to draw" in page.one("figure").one("p", class_="note").text
    assert "1.7e308" in page.one("figure").one("table").text
    assert "Later." in page.one("main").text


@pytest.mark.req("html-citations")
def test_an_empty_deliverable_is_still_a_page() -> None:
    empty = Deliverable(status="failed", narrative="", note="Nothing was made.")
    page = parse(to_html(Report("Nothing", empty, {}, report().provenance)))
    assert page.one("h1").text == "Nothing"
    assert "Nothing was made." in page.one("aside").text
