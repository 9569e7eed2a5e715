"""Drawings: attacks are refused, drawings survive, and what comes out is canonical."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import process_time
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artificer.artifacts import catalog
from artificer.artifacts.svg import parse as svg_parse
from artificer.artifacts.svg import references as svg_references
from artificer.artifacts.svg.allowed import ELEMENTS, PRESENTATION, grammar_of
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.svg.rebuild import MAX_PROBLEMS, rebuild
from artificer.values.base import Problem
from needs import reason

CASES = Path(__file__).parents[1] / "cases" / "artifacts"
ATTACKS = json.loads((CASES / "svg_attacks.json").read_text())
BENIGN = json.loads((CASES / "svg_benign.json").read_text())
NAMESPACE = "{http://www.w3.org/2000/svg}"


def messages(markup: str) -> list[str]:
    result = rebuild(markup, "x-")
    assert not isinstance(result, str), f"accepted: {result}"
    assert {problem.pointer for problem in result} == {"/svg/content"}
    return [problem.message for problem in result]


def accepted(markup: str, prefix: str = "x-") -> str:
    result = rebuild(markup, prefix)
    assert isinstance(result, str), result
    return result


def assert_harmless(markup: str) -> None:
    """Only allowed names, only local references, by an independent reading."""
    root = ElementTree.fromstring(markup)
    assert root.tag == NAMESPACE + "svg" and root.get("role") == "img"
    for element in root.iter():
        name = element.tag.removeprefix(NAMESPACE)
        assert name in ELEMENTS
        for key, value in element.attrib.items():
            assert key == "role" or grammar_of(name, key)
            assert not key.startswith("on") and key not in ("style", "src", "base")
            if key != "aria-label":
                assert "//" not in value and "\\" not in value and "@" not in value
                assert re.sub(r"url\(#[\w.-]+\)", "", value).find("url") == -1
            if key == "href":
                assert value.startswith("#")


@pytest.mark.req("svg-allow-list")
@pytest.mark.parametrize("case", ATTACKS, ids=lambda case: case["name"])
def test_an_attack_is_refused_and_named_with_its_line(case: dict[str, Any]) -> None:
    found = messages(case["markup"])
    assert any(case["says"] in message for message in found), found
    assert all(re.match(r"line \d+: |draws too many", message) for message in found)


@pytest.mark.req("svg-benign")
@pytest.mark.parametrize("case", BENIGN, ids=lambda case: case["name"])
def test_a_drawing_keeps_what_it_shows(case: dict[str, Any]) -> None:
    result = accepted(case["markup"])
    for part in case["shows"]:
        assert part in result
    assert_harmless(result)
    assert rebuild(result, "") == result


@pytest.mark.req("svg-benign")
@pytest.mark.parametrize("case", BENIGN[-3:], ids=lambda case: case["name"])
def test_a_rebuilt_drawing_looks_the_same_to_the_last_pixel(case: dict[str, Any]) -> None:
    vl_convert = pytest.importorskip("vl_convert", reason=reason("vl_convert"))
    before = vl_convert.svg_to_png(case["markup"], scale=2)
    blank = vl_convert.svg_to_png(
        re.sub(r"(<svg[^>]*>).*", r"\1</svg>", case["markup"], flags=re.DOTALL)
    )
    assert vl_convert.svg_to_png(accepted(case["markup"]), scale=2) == before
    assert len(before) > 2 * len(blank)


@pytest.mark.req("svg-all-problems")
def test_everything_wrong_is_reported_at_once_with_its_line() -> None:
    found = messages(
        '<svg onload="a">\n<script>x</script>\n<rect fill="url(//x)"\n onclick="b"/>\n'
        '<a href="javascript:c"/>\n<style>@import "x";</style></svg>'
    )
    assert [message.split(":")[0] for message in found] == [
        "line 1",
        "line 2",
        "line 3",
        "line 3",
        "line 5",
        "line 6",
    ]


@pytest.mark.req("svg-all-problems")
@pytest.mark.parametrize(
    ("markup", "hint"),
    [
        ("<svg><style>a[b]{}</style></svg>", "use elements, classes and ids"),
        ('<svg style="background:url(#a)"/>', "draw a <rect>"),
        ("<svg><lineargradient/></svg>", "write linearGradient"),
        ('<svg viewbox="0 0 1 1"/>', "write viewBox"),
        ("<svg><text>R&D</text></svg>", "&amp;"),
    ],
)
def test_a_common_mistake_is_told_how_to_do_it(markup: str, hint: str) -> None:
    (message,) = messages(markup)
    assert hint in message


@pytest.mark.req("svg-all-problems")
def test_the_report_is_bounded_and_does_not_repeat_what_was_written() -> None:
    result = rebuild("<svg>" + f"<{'x' * 500}/>" * 100 + "</svg>", "")
    assert isinstance(result, tuple) and len(result) == MAX_PROBLEMS
    assert "51 more" in result[-1].message
    assert all(len(problem.message) < 200 for problem in result)


@pytest.mark.req("svg-ids")
def test_ids_are_prefixed_so_that_two_drawings_on_a_page_never_collide() -> None:
    arguments: dict[str, Any] = {
        "svg": {
            "id": "flow",
            "content": '<svg><g id="a"/><use href="#a"/><rect fill="url(#a)"/></svg>',
        }
    }
    drawing = catalog.load("create_svg", arguments)
    assert isinstance(drawing, Svg)
    assert 'id="flow-a"' in drawing.content
    assert 'href="#flow-a"' in drawing.content and "url(#flow-a)" in drawing.content


def uses(levels: int, each: int) -> str:
    parts = ['<g id="l0"><rect width="1" height="1"/></g>']
    parts += [
        f'<g id="l{level}">' + f'<use href="#l{level - 1}"/>' * each + "</g>"
        for level in range(1, levels + 1)
    ]
    return "<svg>" + "".join(parts) + "</svg>"


@pytest.mark.req("svg-budgets")
@pytest.mark.parametrize(
    ("markup", "says"),
    [
        pytest.param(uses(8, 10), "draws too many", id="use bomb"),
        pytest.param(uses(9, 1), "chain", id="long chain"),
        pytest.param(uses(500, 1), "chain", id="very long chain"),
        pytest.param(
            "<svg>"
            + "".join(f'<use id="u{i}" href="#u{i + 1}"/>' for i in range(2_000))
            + '<g id="u2000"/></svg>',
            "chain",
            id="very long chain forward",
        ),
        pytest.param(
            '<svg><marker id="m">'
            + "<rect/>" * 100
            + '</marker><g marker-mid="url(#m)"><path d="M0 0'
            + "L1 1" * 1000
            + '"/></g></svg>',
            "draws too many",
            id="marker bomb",
        ),
        pytest.param("<svg>" + "<g/>" * svg_parse.MAX_ELEMENTS + "</svg>", "elements", id="nodes"),
        pytest.param(
            "<svg>" + "<g>" * svg_parse.MAX_DEPTH + "</g>" * svg_parse.MAX_DEPTH + "</svg>",
            "deeper",
            id="depth",
        ),
        pytest.param("<svg>" + "<g>" * 20_000, "deeper", id="hostile depth"),
        pytest.param(
            "<svg " + " ".join(f'a{i}=""' for i in range(svg_parse.MAX_ATTRIBUTES + 1)) + "/>",
            "attributes",
            id="attributes",
        ),
        pytest.param(
            '<svg><path d="M0 0' + "L1 1" * 10_000 + '"/></svg>', "value of d", id="path length"
        ),
        pytest.param(
            '<svg><polygon points="' + "1,1 " * 10_000 + '"/></svg>', "points", id="points"
        ),
        pytest.param("<svg>" + "é" * svg_parse.MAX_BYTES + "</svg>", "bytes", id="bytes"),
        pytest.param(
            '<svg><filter id="f"><feGaussianBlur stdDeviation="9"/><feOffset/></filter>'
            + '<rect filter="url(#f)"/>' * 200
            + "</svg>",
            "draws too many",
            id="filter bomb",
        ),
        pytest.param(
            '<svg><filter id="f"><feGaussianBlur stdDeviation="9"/></filter>'
            '<g id="a"><rect filter="url(#f)"/></g>' + '<use href="#a"/>' * 200 + "</svg>",
            "draws too many",
            id="filter bomb by use",
        ),
        pytest.param(
            '<svg viewBox="0 0 9 9">'
            + '<g style="filter:drop-shadow(1px 1px 1px)"/>' * 300
            + "</svg>",
            "draws too many",
            id="shadow bomb",
        ),
        pytest.param(
            "<svg><style>" + ".a{x:y}" * 201 + "</style></svg>", "selectors", id="selectors"
        ),
        pytest.param(
            "<svg><style>"
            + ",".join(["g g g g"] * 199)
            + "{fill:red}</style>"
            + "<g/>" * 3_900
            + "</svg>",
            "too many rules",
            id="selector bomb",
        ),
        pytest.param(
            "<svg><style>*{" + "fill:red;" * 1_700 + "}</style>" + "<g/>" * 3_900 + "</svg>",
            "too many rules",
            id="declaration bomb",
        ),
        pytest.param(
            "<svg><style>" + "a" * 16_001 + "</style></svg>", "characters", id="style sheet"
        ),
        pytest.param("<svg>" + "<![CDATA[" * 7_000, "well-formed", id="open sections"),
        pytest.param("<svg>" + "<!--" * 15_000, "well-formed", id="open comments"),
        pytest.param(
            "<svg>" + "<svg>" * svg_parse.MAX_DEPTH + "</svg>" * svg_parse.MAX_DEPTH + "</svg>",
            "deeper",
            id="nested drawings",
        ),
        pytest.param("<svg>\ud800</svg>", "surrogate", id="lone surrogate"),
    ],
)
def test_a_drawing_beyond_its_budget_is_refused(markup: str, says: str) -> None:
    result = rebuild(markup, "x-")
    assert isinstance(result, tuple) and says in result[0].message


@pytest.mark.req("svg-budgets")
def test_a_drawing_within_its_budgets_is_accepted() -> None:
    assert svg_references.MAX_CHAIN == 8
    assert accepted(uses(8, 1)) and accepted(uses(3, 10))
    assert accepted("<svg>" + "<g/>" * (svg_parse.MAX_ELEMENTS - 1) + "</svg>")
    depth = svg_parse.MAX_DEPTH - 1
    assert accepted("<svg>" + "<g>" * depth + "</g>" * depth + "</svg>")


@pytest.mark.req("svg-budgets")
@pytest.mark.parametrize(
    "value",
    ["1" * 30_000 + "x", "rgb(1" + " " * 30_000 + "x", " " * 30_000 + "url(", "a " * 15_000 + "("],
)
@pytest.mark.parametrize("name", ["fill", "width", "points", "stroke-dasharray", "d", "transform"])
def test_hostile_values_are_refused_without_backtracking(name: str, value: str) -> None:
    element = {"width": "rect", "points": "polygon", "d": "path"}.get(name, "g")
    assert messages(f'<svg><{element} {name}="{value}"/></svg>')


@pytest.mark.req("svg-budgets")
@pytest.mark.parametrize(
    "style",
    [
        "fill:" + "(" * 30_000,
        "fill:" + "(" * 3_000,
        "fill:" + "rgb(" * 900,
        "fill:rgb" + "([{" * 900,
        "fill:a" + "{" * 3_000,
        "(" * 3_000,
        "@a" * 1_900,
        "\\" * 3_000,
        "fill:" + "/*" * 1_500,
    ],
    ids=lambda style: style[:12],
)
def test_a_hostile_style_is_refused_whatever_its_depth(style: str) -> None:
    assert messages(f'<svg><rect style="{style}"/></svg>')


@pytest.mark.req("svg-budgets")
def test_a_colour_of_infinite_shares_is_refused() -> None:
    for place in ('fill="{}"', 'style="fill:{}"'):
        colour = place.format("hwb(1 1e999% 1e999%)")
        assert "fill" in messages(f"<svg><g {colour}/></svg>")[0]


@pytest.mark.req("svg-budgets")
def test_the_cost_of_variables_follows_their_number() -> None:
    def seconds(variables: int, elements: int) -> float:
        rule = "".join(f"--v{number}:1;" for number in range(variables))
        markup = f"<svg><style>*{{{rule}}}</style>{'<g/>' * elements}</svg>"
        began = process_time()
        assert accepted(markup).count("<g/>") == elements
        return process_time() - began

    few, many = seconds(100, 3_200), seconds(1_600, 200)
    assert many < 4 * few


NAMES = st.sampled_from([*ELEMENTS, "script", "a", "animate", "metadata", "foreignObject"])
KEYS = st.sampled_from(
    [*PRESENTATION, "id", "href", "d", "points", "x", "style", "onload", "class", "transform"]
)
VALUES = st.sampled_from(
    [
        "a",
        "#a",
        "url(#a)",
        "url(#b) red",
        "url(//x)",
        "1",
        "1 2",
        "M0 0z",
        "fill:red",
        "stroke:url(#a)",
        "scale(2)",
        "&#13;",
        "&quot;",
        "none",
    ]
) | st.text(st.characters(codec="ascii", exclude_characters='<&"'), max_size=12)


def element(name: str, attributes: dict[str, str], inner: list[str]) -> str:
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(inner)}</{name}>"


TREES = st.recursive(
    st.builds(element, NAMES, st.dictionaries(KEYS, VALUES, max_size=3), st.just([])),
    lambda inner: st.builds(
        element, NAMES, st.dictionaries(KEYS, VALUES, max_size=3), st.lists(inner, max_size=4)
    ),
    max_leaves=8,
)


@pytest.mark.req("svg-allow-list", "svg-fixed-point")
@settings(max_examples=150, deadline=None)
@given(st.lists(TREES, max_size=4), st.sampled_from(["", "x-", "9_a-"]))
def test_whatever_comes_out_is_harmless_and_stays_as_it_is(parts: list[str], prefix: str) -> None:
    result = rebuild(f"<svg>{''.join(parts)}</svg>", prefix)
    if isinstance(result, str):
        assert_harmless(result)
        assert rebuild(result, "") == result


@pytest.mark.req("svg-allow-list")
@settings(deadline=None)
@given(st.text(alphabet="<>/&;#\"'= svgrectuseidhreffill:!-[]?()", max_size=120))
def test_any_text_is_a_drawing_or_a_report(text: str) -> None:
    result = rebuild(f"<svg>{text}</svg>", "x-")
    if isinstance(result, str):
        assert_harmless(result)
    else:
        assert result and all(isinstance(problem, Problem) for problem in result)


SHEETS = st.lists(
    st.sampled_from(
        [
            "rect",
            ".a",
            "#a",
            "*",
            ":root",
            ":hover",
            " > ",
            " ",
            ",",
            "{",
            "}",
            "fill:red",
            "stroke:url(#a)",
            "fill:url(//x)",
            "--v:red",
            "fill:var(--v)",
            "fill:var(--v, blue)",
            "font:12px x",
            "filter:none",
            "filter:drop-shadow(1px 1px red)",
            "transform:rotate(9deg)",
            "transform-origin:center",
            "white-space:pre",
            "background:red",
            "background:url(#a)",
            "!important",
            ";",
            "@import 'x';",
            "@media x{}",
            "\\75 rl(//x)",
            "/*",
            "*/",
            "expression(x)",
            "]]>",
            "&nbsp;",
            "&lt;/style>",
        ]
    ),
    max_size=12,
).map("".join)
FILTERED = '<filter id="a"><feOffset dx="1"/></filter><g class="a" id="b">{}</g>'


@pytest.mark.req("svg-allow-list", "svg-fixed-point")
@settings(max_examples=300, deadline=None)
@given(SHEETS, SHEETS, st.lists(TREES, max_size=2))
def test_no_style_sheet_makes_anything_but_a_harmless_drawing(
    sheet: str, style: str, parts: list[str]
) -> None:
    declared = style.replace('"', "").replace("&nbsp;", "").replace("<", "")
    markup = (
        f'<svg viewBox="0 0 9 9"><style>{sheet}</style><rect class="a" style="{declared}"/>'
        f"{FILTERED.format(''.join(parts))}</svg>"
    )
    result = rebuild(markup, "x-")
    if isinstance(result, str):
        assert_harmless(result)
        assert not re.search(r"<style|\sstyle=|var\(", result)
        assert rebuild(result, "") == result


@pytest.mark.req("svg-ids")
def test_ids_that_would_meet_are_refused() -> None:
    markup = '<svg><g id="\u00e9"/><g id="_xe9_"/><use href="#\u00e9"/></svg>'
    assert "twice" in messages(markup)[0]


@pytest.mark.req("svg-all-problems")
def test_a_rule_of_a_style_sheet_is_reported_once_however_many_elements_it_is_for() -> None:
    sheet = "<style>rect { border-radius: 3px; fill: url(//x) }</style>"
    found = messages(f"<svg>{sheet}{'<rect/>' * 9}</svg>")
    assert [message.split(" in ")[0] for message in found] == [
        "line 1: border-radius",
        "line 1: fill",
    ]


KEPT = {
    "rect": {"x": "1", "width": "50%", "fill": "#abc", "stroke": "url(#a) red"},
    "path": {"d": "M 0 0 L 5 5 z", "stroke-width": "2px", "marker-end": "url(#a)"},
    "text": {"font-size": "12", "text-anchor": "middle", "transform": "rotate(45)"},
    "g": {"opacity": ".5", "id": "a"},
}


@pytest.mark.req("svg-benign")
@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(set(KEPT) - {"g"})), max_size=6), st.data())
def test_accepted_attributes_are_all_kept(names: list[str], data: st.DataObject) -> None:
    chosen = [
        (
            name,
            {
                key: KEPT[name][key]
                for key in data.draw(st.sets(st.sampled_from(sorted(KEPT[name]))))
            },
        )
        for name in names
    ]
    marker = '<marker id="a"/>'
    markup = "<svg>" + marker + "".join(element(n, a, []) for n, a in chosen) + "</svg>"
    root = ElementTree.fromstring(accepted(markup, ""))
    kept = [(e.tag.removeprefix(NAMESPACE), e.attrib) for e in root][1:]
    assert kept == chosen
