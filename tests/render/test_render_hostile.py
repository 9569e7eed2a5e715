"""Hostile output of a model: on the page it is words and numbers, and nothing else."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from render_page import Element, parse
from render_sample import report

from artificer.artifacts.catalog import load
from artificer.artifacts.chart import BarChart
from artificer.artifacts.chart_fields import Series
from artificer.render.charts import to_svg, vega_lite
from artificer.render.html import to_html
from artificer.render.markdown import to_markdown

HOSTILE = [
    "</title></svg></style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "datum.x",
    "a.b[c]",
    "signal",
    "{{artifact:chart:other}}",
    "[x](javascript:alert(1)) ![y](https://tracker.example/p.png)",
    "&lt;b&gt; &amp; <!-- --> ]]>",
    "\u202egnp.exe\u202c and שלום",
    "line\nbreak\ttab\x0b",
    "x" * 60,
    "🧪" * 60,
]

PROSE = {"h1", "h2", "h3", "p", "span", "strong", "em", "code", "pre", "a", "bdi", "blockquote"}
PARTS = {"aside", "div", "figure", "figcaption", "details", "summary", "footer", "mark", "br", "hr"}
MADE = {"nav", "math", "mrow", "mi", "mn", "mo", "msup", "mtext"}
LISTS = {"ul", "ol", "li", "dl", "dt", "dd", "label", "input", "img", "s"}
TABLE = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
DRAWN = {"svg", "title", "desc", "g", "path", "line", "rect", "text", "tspan"}
TURNED = "\u27e8U+202E\u27e9"

TAGS = (
    MADE | {"html", "head", "meta", "style", "body", "main"} | PROSE | PARTS | LISTS | TABLE | DRAWN
)


def calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """One artifact of each family with ``text`` wherever a model may write freely."""
    series = [{"name": text, "values": [1, 2]}, {"name": text, "values": [3, 4]}]
    shape = {"title": text, "labels": [text, text], "series": series}
    points = [{"x": 1, "y": 2, "label": text}, {"x": 3, "y": 3}]
    items = [{"id": "i", "label": text, "checked": True}]
    return [
        ("create_bar_chart", {"id": "a", **shape}),
        ("create_bar_chart", {"id": "b", "orientation": "horizontal", **shape}),
        ("create_line_chart", {"id": "c", **shape}),
        ("create_stacked_bar_chart", {"id": "d", **shape}),
        ("create_pie_chart", {"id": "e", "segments": [{"label": text, "value": 1}] * 2}),
        ("create_scatter_chart", {"id": "f", "series": [{"name": text, "points": points}]}),
        (
            "create_table",
            {"table": {"kind": "table", "id": "t", "columns": [text], "rows": [[text], [None]]}},
        ),
        ("create_list", {"list": {"kind": "list", "id": "l", "items": [text]}}),
        ("create_checklist", {"checklist": {"kind": "checklist", "id": "k", "items": items}}),
        ("create_file", {"name": "f.md", "content": text}),
    ]


def assert_inert(page: Element) -> None:
    for element in page.descendants():
        assert element.tag in TAGS, element
        for name, value in element.attributes.items():
            assert not name.startswith("on"), element
            assert name not in ("style", "srcset", "formaction", "action", "xlink:href"), element
            if name in ("href", "src"):
                assert re.match(r"(#|https?://|mailto:|data:(text|image/svg\+xml))", value), element
            elif name not in ("content", "xmlns"):
                assert "://" not in value or name in ("aria-label", "alt"), element
    assert not [i for i in page.all("img") if not i.attributes["src"].startswith("data:")]


@pytest.mark.req("render-hostile")
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_every_field_is_shown_and_stays_inert(text: str) -> None:
    page = parse(to_html(report("Words.", calls(text), title=text)))
    assert_inert(page)
    shown = "".join(text.replace("\x0b", "\ufffd").replace("\u202e", TURNED).split())
    for place in (page.one(id="list-l"), page.one(id="table-t"), page.one(id="checklist-k")):
        assert shown in "".join(place.text.split())


@pytest.mark.req("render-overrides")
def test_nothing_reverses_letters_and_what_is_downloaded_stays_as_it_is() -> None:
    text = "Pay 001\u202e to \u202dBob"
    code = "if x: \u2066return\u2069  # \u202e"
    made = report(
        f"{text}, `{text}`.\n\n```python\n{code}\n```\n\n```\n{code}\n```",
        [*calls(text), ("create_file", {"name": "g.txt", "content": code})],
        title=text,
    )
    markup = to_html(made)
    assert not set("\u202d\u202e") & set(markup + to_markdown(made)[:200])
    page = parse(markup)
    assert_inert(page)
    assert page.one("head").one("title").text == f"Pay 001{TURNED} to \u27e8U+202D\u27e9Bob"
    seen = code.replace("\u202e", TURNED)
    seen = seen.replace("\u2066", "\u27e8U+2066\u27e9").replace("\u2069", "\u27e8U+2069\u27e9")
    assert [pre.text.strip() for pre in page.all("pre")].count(seen) == 3
    saved = b64encode(code.encode()).decode()
    (link,) = [a for a in page.all("a") if a.attributes.get("download") == "g.txt"]
    assert link.attributes["href"].endswith(saved)


@pytest.mark.req("render-overrides")
def test_what_is_named_by_its_number_does_not_reverse_letters_either() -> None:
    named = "&#x202e; &#8237;"
    narrative = rf"""# Pay {named}

a {named} [b {named}](https://ok.example/&#x202e;) **c {named}** $\text{{&#x202e;d}}$

| {named} |
|---|
| {named} |

$\unicode{{x202e}}$ e[^1]

[^1]: {named}
"""
    made = report(narrative, [])
    markup, words = to_html(made), to_markdown(made)
    assert not set("\u202d\u202e") & set(markup + words)
    for number in ("202D", "202E"):
        assert markup.count(f"\u27e8U+{number}\u27e9") >= 7
        assert words.count(f"\u27e8U+{number}\u27e9") >= 6


@pytest.mark.req("render-overrides")
def test_languages_from_right_to_left_keep_their_marks() -> None:
    text = "\u2067\u05e9\u05dc\u05d5\u05dd\u2069 \u202b\u05e9\u202c\u200f!"
    assert text in parse(to_html(report(text, [], title=text))).one("main").text


@pytest.mark.req("render-hostile")
@pytest.mark.parametrize(
    "narrative",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)> <svg onload=alert(1)>",
        "[x](javascript:alert(1)) [y](data:text/html,hi) [z](vbscript:x) [w](//evil.example)",
        "![track](https://tracker.example/pixel.png) ![d](data:image/png;base64,AAAA)",
        "<https://ok.example> [t](https://ok.example 'onmouseover=alert(1)')",
        "[a]: javascript:alert(1)\n\n[a] [a][a]",
        "| a<script> |\n|---|\n| <b onclick=x> |",
        "```html\n</code></pre><script>alert(1)</script>\n```",
        "[![x](https://a.example/i.png)](https://b.example)",
        "# <script>x</script>\n\n</main></body></html>",
        "text\x00with\x1bcontrols\ufffe",
    ],
)
def test_a_hostile_narrative_is_inert(narrative: str) -> None:
    page = parse(to_html(report(narrative, [])))
    assert_inert(page)
    assert {a.attributes["href"] for a in page.all("a")} <= {
        "https://ok.example",
        "https://tracker.example/pixel.png",
        "https://b.example",
    }


@pytest.mark.req("render-hostile")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=120))
def test_any_narrative_is_inert_and_renders_twice_the_same(narrative: str) -> None:
    made = report(narrative, [])
    assert_inert(parse(to_html(made)))
    assert to_markdown(made) == to_markdown(report(narrative, []))


FRAGMENTS = [
    "{{artifact:list:l}}",
    "{{artifact:list:missing}}",
    "{{artifact:nokind:x}}",
    "{{ARTIFACT : list : l }}",
    "word",
    " ",
    "\n",
    "\n\n",
    "> ",
    "- ",
    "# ",
    "    ",
    "`",
    "```",
    "*",
    "_",
    "~~",
    "[",
    "](",
    ")",
    "![",
    "|",
    "\n|---|---|\n",
    "<b>",
    "\\",
    "https://a.example/",
    "<https://a.example/",
    ">",
    "[r]: ",
]


@pytest.mark.req("html-citations")
@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_a_citation_never_vanishes_whatever_surrounds_it(narrative: str) -> None:
    """Resolved artifacts appear exactly once; missing ones as often as examination counts them."""
    items = [{"kind": "list", "id": "l", "items": ["The item"]}]
    made = report("Words.\n\n" + narrative, [("create_list", {"list": items[0]})])
    markup = to_html(made)
    page = parse(markup)
    assert_inert(page)
    assert len(page.all(id="list-l")) == 1
    assert not re.search(r"artifact[0-9a-f]{20}n", markup + to_markdown(made))
    codes = [finding.code for finding in made.deliverable.findings]
    assert ("unreferenced" in codes) == ("Also made" in [h.text for h in page.all("h2")])
    marked = [e.text.split(":")[0] for e in page.all(class_="missing")]
    assert marked.count("missing") == codes.count("missing")
    assert marked.count("unreadable") == codes.count("unknown_kind") + codes.count("malformed")


@pytest.mark.req("chart-spec-ours")
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_label_enters_a_specification_only_as_a_value(text: str) -> None:
    """Fields, expressions and formats are the same whatever the labels are."""

    def skeleton(node: Any) -> Any:
        if isinstance(node, dict):
            kept = {k: v for k, v in node.items() if k not in ("values", "domain", "title", "sort")}
            return {k: skeleton(v) for k, v in kept.items() if k not in ("labelAngle", "columns")}
        return [skeleton(n) for n in node] if isinstance(node, list) else node

    def spec(label: str) -> str:
        drawn = [load(*call) for call in calls(label)[:6]]
        return json.dumps([skeleton(vega_lite(c)) for c in drawn], ensure_ascii=False)  # type: ignore[arg-type]

    assert "expr" not in spec(text)
    assert "datum" not in spec(text)
    assert sorted(re.findall(r'"field": "\w+"', spec(text))) == sorted(
        re.findall(r'"field": "\w+"', spec("plain"))
    )
    assert text.strip() not in ("datum.x", "a.b[c]") or text not in spec(text)


@pytest.mark.req("chart-svg")
def test_equal_labels_stay_apart() -> None:
    series = (Series(name="s", values=(1.0, 2.0, 3.0)), Series(name="s", values=(4.0, 5.0, 6.0)))
    drawn = to_svg(BarChart(id="x", labels=("a", "a", "b"), series=series))
    root = parse(drawn)
    words = [t.text for t in root.all("text")]
    assert [w.rstrip("\u200b") for w in words if w.startswith("a")] == ["a", "a"]
    bars = [p for p in root.all("path") if p.attributes.get("fill") in ("#0072b2", "#d55e00")]
    assert len(bars) == 6 + 2
