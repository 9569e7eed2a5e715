"""Tables: numbers in one style for each column, aligned on the point; the direction of a script."""

from __future__ import annotations

from typing import Any

import pytest
from render_page import Element, parse
from render_sample import report

from artificer.artifacts.table import Cell
from artificer.render.charts.words import Grid
from artificer.render.html import to_html
from artificer.render.tables import CellView, table_view


def column(*cells: Cell) -> list[CellView]:
    view = table_view(Grid(("head",), tuple((cell,) for cell in cells)))
    return [row[0] for row in view.rows]


@pytest.mark.req("html-numbers")
class TestNumbers:
    def test_a_column_has_one_style_of_grouping(self) -> None:
        assert [c.text for c in column(4031, 99768)] == ["4,031", "99,768"]
        assert [c.text for c in column(4031, 2026)] == ["4031", "2026"]
        assert [c.text for c in column(-1234.5, 12345.25)] == ["−1,234.5", "12,345.25"]

    def test_points_stand_below_each_other(self) -> None:
        found = column(7.797, 66.29, 12, None)
        assert [(c.text, c.pad) for c in found] == [
            ("7.797", ""),
            ("66.29", "0"),
            ("12", ".000"),
            (None, ""),
        ]
        assert not any(c.pad for c in column(1e-7, 2.5)), "powers of ten are not aligned"
        assert not any(c.pad for c in column(1, 2))

    @pytest.mark.parametrize("absent", ["n/a", "N/A", "—", "k. A.", " "])
    def test_a_word_for_no_value_does_not_make_words_of_numbers(self, absent: str) -> None:
        assert all(c.numeric for c in column(1.5, absent, "+1.2 pp"))
        assert not any(c.numeric for c in column(1.5, absent, "unknown to us"))

    @pytest.mark.parametrize("value", [5e-324, 1e300, -1e15, 123456789012345, 0.1 + 0.2, -0.0])
    def test_every_number_is_exact(self, value: float) -> None:
        for other in (1, 99999):
            text = column(value, other)[0].text or ""
            assert float(text.replace(",", "").replace("−", "-")) == value


def page(narrative: str, columns: list[str], rows: list[list[Any]]) -> Element:
    table = {"kind": "table", "id": "t", "columns": columns, "rows": rows}
    return parse(to_html(report(narrative, [("create_table", {"table": table})])))


@pytest.mark.req("html-numbers")
def test_the_columns_of_an_arabic_table_run_from_the_right() -> None:
    rows = [["القاهرة", 1200]]
    assert page("", ["المدينة", "المبيعات"], rows).one("table").attributes["dir"] == "rtl"
    assert page("", ["City", "المبيعات"], rows).one("table").attributes["dir"] == "ltr"


@pytest.mark.req("html-placement")
class TestPlacement:
    def test_a_placeholder_alone_is_the_place_whatever_came_before(self) -> None:
        text = "See {{artifact:table:t}} below.\n\nMore.\n\n{{artifact:table:t}}\n\nThe end."
        blocks = page(text, ["a"], [[1]]).one("main").children[2:6]
        assert [b.text for b in blocks[:2]] == ["See Table 1 below.", "More."]
        assert blocks[2].attributes["id"] == "table-t"
        assert blocks[3].text == "The end."

    def test_without_such_a_line_it_follows_its_first_mention(self) -> None:
        text = "See {{artifact:table:t}}.\n\nAnd {{artifact:table:t}} again."
        blocks = page(text, ["a"], [[1]]).one("main").children[2:5]
        assert [b.attributes.get("id") for b in blocks] == [None, "table-t", None]

    def test_figures_are_numbered_as_they_stand(self) -> None:
        text = "{{artifact:chart:b}} and {{artifact:chart:a}}.\n\n{{artifact:chart:a}}\n\n"
        charts = [
            ("create_pie_chart", {"id": name, "segments": [{"label": "x", "value": 1}]})
            for name in "ab"
        ]
        main = parse(to_html(report(text + "{{artifact:chart:b}}", charts))).one("main")
        assert main.children[2].text == "Figure 2 and Figure 1."
        numbers = [f.one("figcaption").one(class_="number").text for f in main.all("figure")]
        assert numbers == ["Figure 1", "Figure 2"]
