"""The message of a deliverable: shown above the report, with the artifacts that it names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from render_page import parse
from render_sample import report

from artificer.render.html import to_html
from artificer.render.markdown import to_markdown
from artificer.render.report import Report

pytestmark = pytest.mark.req("report-message")

HOSTILE = "![x](https://evil.example/q) <script>alert(1)</script> [y](javascript:alert(1)) # no"


def saying(message: str) -> Report:
    made = report()
    return replace(made, deliverable=made.deliverable.replace(message=message))


def test_the_page_shows_it_above_the_report() -> None:
    page = parse(to_html(saying("I replaced {{artifact:list:risks}}.\n\nAnything else?")))
    aside = page.one("aside", class_="message")
    assert aside.text.strip().startswith("I replaced") and "{{" not in aside.text
    assert len(aside.all("p")) == 2


def test_markdown_quotes_it() -> None:
    text = to_markdown(saying("I replaced the item.\n\nAnything else?"))
    assert "\n> I replaced the item.\n>\n> Anything else?\n" in text
    assert text.index("> I replaced") < text.index("Figure 1")


def test_it_is_text_whatever_it_holds() -> None:
    page = parse(to_html(saying(HOSTILE)))
    assert not page.all("script") and not page.all("img", src="https://evil.example/q")
    assert all(not a.attributes["href"].startswith("javascript") for a in page.all("a"))
    quoted = next(x for x in to_markdown(saying(HOSTILE)).splitlines() if x.startswith("> "))
    _, _, inline, *_ = MarkdownIt("commonmark").parse(quoted)
    assert {child.type for child in inline.children or ()} <= {"text", "text_special"}


def test_a_report_without_one_is_as_it_was() -> None:
    assert to_html(saying("")) == to_html(report())
    assert to_markdown(saying("")) == to_markdown(report())
    assert not parse(to_html(report())).all("aside", class_="message")
