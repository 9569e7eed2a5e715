"""Tables that are sorted and filtered, by addresses and by ranks."""

from __future__ import annotations

from math import inf

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from revised import revised
from studio_kit import Studio

from artificer.artifacts.table import Cell
from artificer.render.charts.words import Grid
from artificer.studio.grids import GridChoice, choice_of, column_ranks, sorted_grid

pytestmark = pytest.mark.req("studio-tables")


def ordered(cells: list[Cell], direction: str = "ascending") -> list[Cell]:
    """Return a column as it is sorted."""
    grid = Grid(("A",), tuple((cell,) for cell in cells))
    choice = GridChoice(1, "descending" if direction == "descending" else "ascending")
    return [cells[row.at] for row in sorted_grid(grid, choice, {}).rows]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([10, 9.5, -1, None, 2**70], [-1, 9.5, 10, 2**70, None]),
        (["10", "9", "x", None], ["10", "9", "x", None]),
        (["10", "9", "1,200"], ["9", "10", "1,200"]),
        (["1.200,50 €", "9,00 €", "−3 €"], ["−3 €", "9,00 €", "1.200,50 €"]),
        (["5 kB", "2 MB"], ["2 MB", "5 kB"]),
        (["2026-01-31", "2025-12-01"], ["2025-12-01", "2026-01-31"]),
        (
            ["2026-01-01T00:00:00+05:00", "2025-12-31T22:00:00Z"],
            ["2026-01-01T00:00:00+05:00", "2025-12-31T22:00:00Z"],
        ),
        (["b", "Ä", "a", "B"], ["B", "a", "b", "Ä"]),
        ([True, "x", 3, False, ""], [3, False, True, "x", ""]),
        ([1, 1.0, True], [1, 1.0, True]),
        ([inf, 20_000, -inf, None], [-inf, 20_000, inf, None]),
    ],
)
def test_numbers_sort_by_value_dates_by_time_and_text_by_code_point(
    cells: list[Cell], expected: list[Cell]
) -> None:
    assert ordered(cells) == expected


@given(st.lists(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()))
def test_every_column_has_an_order_and_empty_cells_come_last(cells: list[Cell]) -> None:
    empty = [cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells]
    assert [not rank for rank in column_ranks(cells)] == empty
    for direction in ("ascending", "descending"):
        found = ordered(cells, direction)
        assert len(found) == len(cells)
        last = [cell is None or (isinstance(cell, str) and not cell.strip()) for cell in found]
        assert last == sorted(last)


@given(st.dictionaries(st.sampled_from(["sort", "down", "find"]), st.text()))
def test_any_address_is_read(query: dict[str, str]) -> None:
    assert 0 <= choice_of(query, 3).column <= 3


async def test_an_address_sorts_and_filters_without_a_script(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await revised(served.world)
    page = "/runs/r/artifacts/table:cities"
    text = (await client.get(page, params={"sort": "2", "down": "1", "find": "o"})).text
    rows = text.partition("<tbody>")[2].partition("</tbody>")[0]
    assert [rows.index(city) for city in ("Rome", "Paris", "Oslo")] == sorted(
        rows.index(city) for city in ("Rome", "Paris", "Oslo")
    )
    assert rows.count("hidden>") == 2 and "2 of 4 rows" in text
    assert 'aria-sort="descending"' in text and 'value="o"' in text
    for wrong in (
        "?sort=99",
        "?sort=-1",
        "?sort=x",
        f"?find={'x' * 5_000}",
        f"?sort={'9' * 5_000}",
    ):
        assert (await client.get(f"{page}{wrong}")).status_code == 200


async def test_a_cell_is_text_and_what_is_copied_is_no_formula(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await revised(served.world)
    text = (await client.get("/runs/r/artifacts/table:cities")).text
    assert "<script>alert" not in text and "\u202e" not in text
    assert 'data-plain="&#39;=cmd()"' in text
