"""Constructs of the narrative beyond CommonMark, and the way around in a long report."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from render_page import Element, parse
from render_sample import report

from artificer.render.code import code_html, math_html
from artificer.render.html import to_html
from artificer.render.markdown import to_markdown


def page(narrative: str) -> Element:
    return parse(to_html(report(narrative, []))).one("main")


@pytest.mark.req("html-prose")
class TestProse:
    def test_a_bare_address_is_a_link(self) -> None:
        link = page("More at https://example.org/a?b=c. Not www.example.org or a.py.").one("a")
        assert link.attributes["href"] == link.text == "https://example.org/a?b=c"

    def test_a_formula_is_mathml(self) -> None:
        found = page("It is $E = mc^2$ for $5 and $6.\n\n$$\\frac{1}{n}$$").all("math")
        assert [m.attributes["display"] for m in found] == ["inline", "block"]
        assert found[0].text == "E=mc2"
        assert found[1].one("mfrac")

    @pytest.mark.parametrize(
        "formula",
        [
            "\\href{javascript:alert(1)}{x}",
            "<script>alert(1)</script>",
            "{" * 999,
            "\\frac{",
            "\\",
            "\\begin{matrix}",
            "\\text{<img src=x onerror=alert(1)>}",
        ],
    )
    def test_a_hostile_formula_is_inert(self, formula: str) -> None:
        made = parse(str(math_html(formula, block=True)))
        assert not {e.tag for e in made.descendants()} & {"script", "img", "a"}
        names = [name for element in made.descendants() for name in element.attributes]
        assert not [name for name in names if name.startswith(("on", "href"))]

    def test_terms_have_definitions(self) -> None:
        listed = page("Median\n: The middle.\n: Of all.").all("dl")[0]
        assert [e.text.strip() for e in listed.children] == ["Median", "The middle.", "Of all."]
        written = to_markdown(report("Median\n: The middle.", []))
        assert "**Median**\n\n- The middle." in written

    def test_code_has_classes_for_its_colours_and_the_keyboard_scrolls_it(self) -> None:
        block = page("```python\nreturn 'a' # b\n```").one("pre")
        assert block.attributes["tabindex"] == "0"
        assert block.all("span")[0].attributes["class"] == "c-k"
        assert block.text == "return 'a' # b\n"

    @pytest.mark.parametrize("unit", ["\n", "\t", '"\\\\', "a "])
    def test_code_that_would_keep_a_lexer_busy_has_no_colours(self, unit: str) -> None:
        """Long lines and spaces in C take a lexer many seconds."""
        code = f"int a;\n{unit * 1_000};"
        assert not parse(str(code_html(code, "c"))).one("code").all("span")
        assert parse(str(code_html(f"int a;\n{unit * 90};", "c"))).one("code").all("span")

    @example("\ufeff", "python")
    @example("\ufeff\ufeffx", "html")
    @given(st.text(max_size=80), st.sampled_from(["python", "html", "json", "nothing", ""]))
    def test_any_code_is_shown_as_it_is_written(self, content: str, language: str) -> None:
        shown = parse(str(code_html(content, language))).one("code").text
        cleaned = parse(str(code_html(content, ""))).one("code").text
        plain = [text.replace("\r\n", "\n").replace("\r", "\n") for text in (shown, cleaned)]
        assert plain[0] == plain[1]

    def test_a_placeholder_in_a_formula_or_an_address_is_still_found(self) -> None:
        for text in ("$a {{artifact:list:l}} b$", "https://a.example/{{artifact:list:l}}"):
            listed = {"kind": "list", "id": "l", "items": ["x"]}
            made = parse(to_html(report(text, [("create_list", {"list": listed})])))
            assert len(made.all(id="list-l")) == 1
            assert "Also made" not in made.one("main").text


@pytest.mark.req("html-contents")
def test_a_long_report_has_a_table_of_contents_and_a_short_one_has_none() -> None:
    text = "\n\n".join(f"## Part *{name}*\n\nWords." for name in ("a", "b", "a", "c", "<x>"))
    made = page(text)
    links = made.one("nav").all("a")
    assert [a.text for a in links] == ["Part a", "Part b", "Part a", "Part c", "Part <x>"]
    ids = [h.attributes["id"] for h in made.all("h2")]
    assert [a.attributes["href"] for a in links] == [f"#{name}" for name in ids]
    assert len(set(ids)) == 5
    assert not page("## One\n\nWords.").all("nav")


NOTED = """\
A claim.[^b] Another,[^a] and the first again.[^b]

> [^a]: Its source, with a [link](https://e.org) and a note of its own.[^c]

[^b]: One word
[^c]: ```py
    code
    ```
[^d]: Nothing refers to this.
[^d]: Nor to this.
"""


@pytest.mark.req("html-footnotes")
class TestFootnotes:
    def test_each_is_linked_to_and_back(self) -> None:
        made = page(NOTED)
        ids = [e.attributes["id"] for e in made.descendants() if "id" in e.attributes]
        assert len(ids) == len(set(ids))
        inner = [a for a in made.all("a") if a.attributes["href"].startswith("#")]
        assert {a.attributes["href"][1:] for a in inner} <= set(ids)
        refs = [a.text for sup in made.all("sup") for a in sup.all("a")]
        assert refs == ["1", "2", "1", "3"]
        notes = made.one("section").all("li")
        assert [len(note.all("span", class_="backs")[0].all("a")) for note in notes[:3]] == [
            2,
            1,
            1,
        ]
        assert all(a.attributes.get("aria-label") for a in inner)

    def test_no_words_are_lost(self) -> None:
        shown = page(NOTED).one("section").text
        for words in ("One word", "Its source", "code", "Nothing refers to this.", "Nor to this."):
            assert shown.count(words) == 1

    def test_markdown_has_them_too(self) -> None:
        written = to_markdown(report(NOTED, []))
        assert "A claim.[^1] Another,[^2] and the first again.[^1]" in written
        assert (
            "[^2]: Its source, with a [link](https://e.org) and a note of its own.[^3]" in written
        )

    def test_a_reference_is_never_within_another_link(self) -> None:
        made = page("[words[^1] more](https://e.org) ![a[^1]](https://e.org)\n\n[^1]: Note.")
        assert not [a for a in made.all("a") if a.all("a")]

    def test_a_citation_in_a_note_or_its_name_is_found(self) -> None:
        listed = {"kind": "list", "id": "l", "items": ["x"]}
        for text in (
            "a[^1]\n\n[^1]: See {{artifact:list:l}}.",
            "a[^{{artifact:list:l}}]\n\n[^b]: c",
        ):
            made = parse(to_html(report(text, [("create_list", {"list": listed})])))
            assert len(made.all(id="list-l")) == 1
            assert "Also made" not in made.one("main").text

    def test_a_message_has_none(self) -> None:
        sample = report("Text[^1]\n\n[^1]: a", [])
        changed = replace(sample.deliverable, message="A[^1]\n\n[^1]: b")
        made = parse(to_html(dataclasses.replace(sample, deliverable=changed)))
        assert len(made.all(id="note-1")) == 1

    def test_tasks_are_boxes_that_nobody_can_tick(self) -> None:
        made = page("- [x] done\n- [ ] open\n\n  more\n- [y] words")
        boxes = made.all("ul")[0].all("input")
        assert ["checked" in box.attributes for box in boxes] == [True, False]
        assert all("disabled" in box.attributes for box in boxes)
        assert made.all("li")[0].text.strip() == "done"
        assert "- [x] done" in to_markdown(report("- [x] done", []))

    def test_a_task_in_a_note_is_a_box_too(self) -> None:
        assert page("a[^1]\n\n[^1]: b\n\n    - [x] c").one("section").all("input")

    def test_a_heading_links_to_itself(self) -> None:
        heading = page("## Part *one*").one("h2")
        assert heading.text == "Part one"
        link = heading.one("a")
        assert link.attributes["href"] == f"#{heading.attributes['id']}"
        assert link.attributes["aria-label"] == "Link to this section"
