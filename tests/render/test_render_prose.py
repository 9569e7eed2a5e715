"""Constructs of the narrative beyond CommonMark, and the way around in a long report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
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

    @given(st.text(max_size=80), st.sampled_from(["python", "html", "json", "nothing", ""]))
    def test_any_code_is_shown_as_it_is_written(self, content: str, language: str) -> None:
        shown = parse(str(code_html(content, language))).one("code").text
        cleaned = parse(str(code_html(content, ""))).one("code").text
        assert shown.replace("\r", "\n") == cleaned.replace("\r\n", "\n").replace("\r", "\n")

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
