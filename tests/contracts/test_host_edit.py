"""Exact edits, and what is said when there is nothing to edit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.host.spec.edit import Edited, edit

TEXT = """def one():
    return 1


def two():
    return 2


def three():
    return 1
"""


@pytest.mark.req("host-edit")
def test_one_passage_is_replaced_and_its_line_told() -> None:
    assert edit(TEXT, "return 2", "return 22") == Edited(TEXT.replace("2\n", "22\n"), (6,))


@pytest.mark.req("host-edit")
def test_a_passage_that_stands_there_twice_is_ambiguous_unless_all_is_said() -> None:
    told = edit(TEXT, "return 1", "return 3")
    assert isinstance(told, str) and "2 times, at lines 2, 10" in told
    done = edit(TEXT, "return 1", "x\ny", everywhere=True)
    assert isinstance(done, Edited)
    assert done.lines == (2, 11)
    assert [done.text.split("\n")[line - 1].strip() for line in done.lines] == ["x", "x"]


@pytest.mark.req("host-edit")
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("", "x", "`old` is empty"),
        ("return 1", "return 1", "are the same"),
        ("     2\t    return 1\n     3\t", "x", "without the line numbers"),
        ("def two():\n  return 2", "x", "lines 5 to 6 differ from it only in white space"),
        ("def tow():\n    return 2", "x", "     5\tdef two():\n     6\t    return 2"),
        ("nothing like it at all, anywhere", "x", "nothing like its first line is"),
    ],
)
def test_why_nothing_is_replaced(old: str, new: str, why: str) -> None:
    told = edit(TEXT, old, new)
    assert isinstance(told, str) and why in told


@pytest.mark.req("host-edit")
def test_line_ends_are_told() -> None:
    told = edit("a\r\nb\r\n", "a\nb", "c")
    assert isinstance(told, str) and r"\r\n" in told


@pytest.mark.req("host-edit")
def test_the_white_space_that_differs_is_shown() -> None:
    told = edit("if x:\n\treturn\n", "if x:\n    return", "y")
    assert isinstance(told, str)
    assert r"Line 2 is '\treturn', and `old` says '    return'" in told


@pytest.mark.req("host-edit")
@given(st.text("ab\n", max_size=30), st.text("ab\n", max_size=4), st.text("ab\n", max_size=4))
def test_an_edit_is_what_replace_does_or_none(text: str, old: str, new: str) -> None:
    done = edit(text, old, new)
    everywhere = edit(text, old, new, everywhere=True)
    if not old or old == new or old not in text:
        assert isinstance(done, str) and isinstance(everywhere, str)
        return
    assert isinstance(everywhere, Edited) and everywhere.text == text.replace(old, new)
    assert len(everywhere.lines) == text.count(old)
    assert isinstance(done, Edited) == (text.count(old) == 1)


@pytest.mark.req("host-edit")
def test_a_hostile_text_costs_little() -> None:
    """Every line is nearly what is looked for; comparing each with each would take minutes."""
    told = edit("a" * 300 + "b\n" + ("a" * 300 + "\n") * 20_000, ("a" * 300 + "\n") * 500 + "c", "")
    assert isinstance(told, str)
