"""The layout of a narrative: paragraphs are found without a Markdown parser, and found alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts.markdown import layout, parsed

PIECES = [
    *("word", "Three.", "é", "二", "3", "10", "1.", "2)", "a.", "x=1", "_", "{{artifact:table:t}}"),
    *(" ", "  ", "    ", "\t", "\n", "\n\n", " \n", "\r\n", "\r", "\f", "\v", "\xa0"),
    *("\u2028", "\0"),
    *("-", "---", "===", "*", "+", "#", ">", "|", "`", "```", "~~~", "[a]: b", "<b>", "\\", ":-"),
]


@pytest.mark.req("narrative-paragraphs")
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_laid_out_as_the_parser_does(text: str) -> None:
    assert layout(text) == parsed(text)


@pytest.mark.req("narrative-paragraphs")
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_text_of_any_characters_is_laid_out_as_the_parser_does(text: str) -> None:
    assert layout(text) == parsed(text)
