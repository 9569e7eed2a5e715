"""Markdown: the same report for terminals, diffs and wikis."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from render_sample import report

from artificer.artifacts.build_catalog import store
from artificer.render.build_artifacts import build_artifact_markdown
from artificer.render.markdown import to_markdown
from artificer.render.text import code_span, one_line

pytestmark = pytest.mark.req("markdown-report")

NASTY = 'a|b `c` *d* _e_ <f> [g](h) # 1. - "i" \\ ~~j~~ &amp; ![k](l)\nm'


def parse(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def inlines(text: str) -> list[str]:
    """The text of every block, with all markup gone."""
    blocks = (token.children or [] for token in parse(text) if token.type == "inline")
    return ["".join(c.content for c in children) for children in blocks]


def table(cells: list[str]) -> tuple[str, dict[str, object]]:
    shape = {"kind": "table", "id": "t", "columns": ["n", "text"]}
    rows = [[index, cell] for index, cell in enumerate(cells)]
    return ("create_table", {"table": {**shape, "rows": rows}})


def test_every_kind_stands_where_it_is_cited() -> None:
    text = to_markdown(report())
    assert "{{" not in text
    order = [
        "# Checkout latency",
        "**Figure 1. Checkout latency by week, milliseconds**",
        "as Figure 2 shows",
        "**Figure 2.",
        "```svg\n<svg",
        "see\nTable 1;",
        "| Western Europe | 398 | 231 | −42 % | 0.183 | yes |",
        "1. The old contract",
        "- [x] Cancel the old contract",
        "- [ ] Measure the fraud check on its own",
        "````markdown\n# Queries",
        "`artificer replay run-20261121-7f3a`",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert to_markdown(report()) == text


def test_cells_survive_whatever_is_in_them() -> None:
    text = to_markdown(report("", [table([NASTY, "plain"])]))
    tokens = parse(text)
    assert [t.type for t in tokens].count("tr_open") == 3
    assert " ".join(NASTY.split()) in inlines(text)


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=40), max_size=4))
def test_any_cell_reads_back_as_it_was(cells: list[str]) -> None:
    text = to_markdown(report("", [table(cells)]))
    read = inlines(text)
    for cell in cells:
        assert one_line(cell) in read or not one_line(cell)


@given(st.text(alphabet="`ab |\\*<", max_size=20))
def test_any_code_span_reads_back_as_it_was(text: str) -> None:
    shown = one_line(text)
    (paragraph,) = [t for t in parse(f"x {code_span(text)} y") if t.type == "inline"]
    code = [child.content for child in paragraph.children or [] if child.type == "code_inline"]
    assert code == [shown] or not shown


@pytest.mark.parametrize("value", ["`", "``", "a`b", "`a", "a``b`c", "a|b"])
def test_a_backtick_in_a_name_or_a_value_ends_no_code(value: str) -> None:
    specs = [{"name": "a", "title": "A", "description": "What."}]
    constants = [{"name": "X", "value": value}]
    plan = {"title": "T", "overview": "O", "specs": specs, "constants": constants}
    text = build_artifact_markdown(store("create_plan", plan))
    spans = [c.content for t in parse(text) for c in t.children or [] if c.type == "code_inline"]
    assert value in spans


def test_a_fence_is_longer_than_any_in_the_file() -> None:
    content = "````\ninner\n````\n{{artifact:chart:x}}"
    text = to_markdown(report("", [("create_file", {"name": "a.txt", "content": content})]))
    (fence,) = [t for t in parse(text) if t.type == "fence"]
    assert fence.content.rstrip("\n") == content


def test_what_is_missing_is_marked_in_place_and_listed_first() -> None:
    made = report("One {{artifact:chart:x}} two.\n\n{{artifact:table:y}}", [], status="partial")
    text = to_markdown(made)
    assert "One **[missing: `chart:x`]** two." in text
    assert "**[missing: `table:y`]**" in text
    assert text.index("> **This report is incomplete.**") < text.index("One ")
    assert "> - `chart:x` is cited, but was never made" in text


def test_a_second_citation_refers_to_the_first() -> None:
    text = to_markdown(report("{{artifact:table:t}}\n\n{{artifact:table:t}}", [table(["a"])]))
    assert text.count("| n | text |") == 1
    assert "See Table 1 above." in text


def test_the_narratives_own_markdown_is_kept() -> None:
    narrative = "Intro [a][ref].\n\n[ref]: https://example.org\n\n> quote\n\n```py\nx = 1\n```"
    text = to_markdown(report(narrative, []))
    for piece in ("Intro [a](https://example.org).", "> quote", "```py\nx = 1\n```"):
        assert piece in text


@pytest.mark.parametrize("depth", [10, 3_000])
def test_words_may_nest_as_deep_as_a_model_likes(depth: int) -> None:
    nested = "*a **b " * depth + "c" + "** d*" * depth
    text = to_markdown(report(nested))
    assert text.count("b") >= depth and "c" in text
