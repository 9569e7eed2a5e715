"""Two versions compared: rows and cells, paragraphs and words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.render.charts.words import Grid
from artificer.studio.grid_changes import MAX_COMPARED_ROWS, MAX_MATCHED_ROWS, grid_change
from artificer.studio.prose import MAX_ALL_PAIRS, MAX_PAIRS, MAX_PARAGRAPHS, prose_diff

pytestmark = pytest.mark.req("studio-versions")

CELLS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b", ""])


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    columns = draw(st.lists(st.sampled_from("ABCD"), min_size=1, unique=True))
    row = st.tuples(*[CELLS for _ in columns])
    return Grid(tuple(columns), tuple(draw(st.lists(row, max_size=6))))


@given(grids(), grids())
def test_every_row_of_both_tables_is_in_their_difference(one: Grid, other: Grid) -> None:
    change = grid_change(one, other)
    kinds = [row.kind for row in change.rows]
    pairs = kinds.count("changed") + change.same
    assert pairs + kinds.count("removed") == len(one.rows)
    assert pairs + kinds.count("added") == len(other.rows)
    assert all(len(row.cells) == len(change.columns) for row in change.rows)
    assert not grid_change(one, one).any


def test_rows_are_found_by_their_first_cell_and_columns_by_name() -> None:
    before = Grid(("City", "N", "Old"), (("Rome", 1, "x"), ("Oslo", 2, "x"), ("Łódź", 3, "x")))
    after = Grid(("City", "New", "N"), (("Paris", "y", 9), ("Oslo", "y", 2), ("Rome", "y", 5)))
    change = grid_change(before, after)
    assert change.columns == (
        ("City", "same"),
        ("New", "added"),
        ("N", "same"),
        ("Old", "removed"),
    )
    found = [(row.kind, row.cells[0].after) for row in change.rows]
    assert found == [("added", "Paris"), ("removed", "Łódź"), ("changed", "Rome")]
    rome = change.rows[-1].cells[2]
    assert (rome.kind, rome.before, rome.after) == ("changed", "1", "5")
    assert change.same == 1


def test_a_long_table_is_compared_within_limits() -> None:
    rows = tuple((n,) for n in range(MAX_COMPARED_ROWS + 5))
    change = grid_change(Grid(("A",), ()), Grid(("A",), rows))
    assert (len(change.rows), change.cut) == (MAX_COMPARED_ROWS, 5)


def test_many_rows_without_a_key_are_compared_by_their_place() -> None:
    """Comparing each with each would take seconds where the same few rows come again and again."""
    one = tuple(("xy"[n % 2],) for n in range(MAX_MATCHED_ROWS + 1))
    other = tuple(("xy"[n // 2 % 2],) for n in range(MAX_MATCHED_ROWS + 1))
    change = grid_change(Grid(("A",), one), Grid(("A",), other))
    differing = sum(a != b for a, b in zip(one, other, strict=True))
    assert [row.kind for row in change.rows] == ["changed"] * differing


def test_words_that_changed_are_marked_within_their_paragraph() -> None:
    change = prose_diff("A title\n\nIt is very far away.", "A title\n\nIt is far away.\n\nMore.")
    assert [one.kind for one in change] == ["same", "changed", "added"]
    pieces = [(piece.kind, piece.text) for piece in change[1].pieces]
    assert pieces == [("same", "It is "), ("removed", "very "), ("same", "far away.")]


@given(st.text(alphabet="ab \n", max_size=60), st.text(alphabet="ab \n", max_size=60))
def test_a_difference_of_prose_holds_both_texts(before: str, after: str) -> None:
    found = prose_diff(before, after)
    if any(change.kind == "note" for change in found) or before == after:
        return
    for text, kind in ((before, "added"), (after, "removed")):
        held = "".join(p.text for change in found for p in change.pieces if p.kind != kind)
        assert "".join(held.split()) == "".join(text.split())


def test_long_prose_is_compared_within_limits() -> None:
    many = "\n\n".join(map(str, range(MAX_PARAGRAPHS + 3)))
    assert prose_diff(many, "x")[-1].pieces[0].text == "3 more paragraphs were not compared."
    words = " ".join(["word"] * 5_000)
    assert [change.kind for change in prose_diff(words, f"{words} x")] == ["removed", "added"]


def test_the_same_few_words_again_and_again_are_not_compared() -> None:
    """Some kilobytes of them would keep the studio busy for a minute."""
    one, other = "x y " * 195, "x x y y " * 97
    assert [change.kind for change in prose_diff(one, f"{other} z")] == ["removed", "added"]
    some = 2 * int((MAX_PAIRS / 2) ** 0.5)
    many = 2 + MAX_ALL_PAIRS * 2 // some**2
    before = "\n\n".join(f"{n} " + "x y " * (some // 2 - 1) for n in range(many))
    after = "\n\n".join(f"{n} " + "y x " * (some // 2 - 1) for n in range(many, 2 * many))
    kinds = [change.kind for change in prose_diff(before, after)]
    assert kinds[0] == "changed" and kinds[-2:] == ["removed", "added"]
