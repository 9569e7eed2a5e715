"""Charts on a phone, gaps, dates, reference lines, the four shapes beyond the seed's six."""

from __future__ import annotations

import re
from fractions import Fraction
from statistics import quantiles
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from render_page import parse
from render_rich import CHARTS
from render_sample import report
from test_render_charts import SVG, _contrast

from artificer.artifacts.catalog import check, load
from artificer.artifacts.chart import BarChart, LineChart
from artificer.artifacts.chart_fields import Series
from artificer.artifacts.iso_date import milliseconds
from artificer.artifacts.more_charts import BoxGroup, HistogramChart
from artificer.render.charts import NARROW, WIDE, to_svg, vega_lite
from artificer.render.charts.bins import bins_of, box_of
from artificer.render.charts.spec import drawing_of
from artificer.render.charts.style import HEAT
from artificer.render.charts.summary import summary
from artificer.render.charts.words import grid
from artificer.render.html import to_html
from artificer.render.stylesheet import stylesheet

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def chart(tool: str, **members: Any) -> Any:
    return load(tool, {"id": "x", **members})


def pointers(tool: str, arguments: Any) -> list[str]:
    """Where the problems are that the schema does not report."""
    return [problem.pointer for problem in check(tool, arguments, ())]


def texts(svg: str) -> list[str]:
    """The words of a drawing, lines joined."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return [" ".join(filter(None, (e.text, *(t.text for t in e)))) for e in found]


def tips(svg: str) -> list[str]:
    """The words at the marks."""
    root = ElementTree.fromstring(svg)
    return [e.text or "" for path in root.iter(f"{SVG}path") for e in path.iter(f"{SVG}title")]


def bars(svg: str) -> list[str]:
    return re.findall(r'<path[^>]* fill="(#[0-9a-f]{6})"', svg)


@pytest.mark.req("chart-narrow")
@pytest.mark.parametrize("call", CHARTS, ids=lambda c: c[1]["id"])
class TestNarrow:
    def test_it_fits_a_phone_and_has_every_mark_of_the_wide_one(self, call: Any) -> None:
        wide, narrow = to_svg(load(*call)), to_svg(load(*call), NARROW)  # type: ignore[arg-type]
        assert float(ElementTree.fromstring(narrow).attrib["width"]) <= NARROW.width + 20
        assert sorted(tips(narrow)) == sorted(tips(wide))
        assert set(bars(narrow)) == set(bars(wide))

    def test_its_ids_are_its_own(self, call: Any) -> None:
        page = parse(to_html(report("", [call])))
        ids = [e.attributes["id"] for e in page.descendants() if "id" in e.attributes]
        assert len(ids) == len(set(ids))


@pytest.mark.req("chart-hover")
def test_each_mark_says_what_it_is_and_its_exact_value() -> None:
    series = [{"name": "s", "values": [1.25, -3]}]
    drawn = to_svg(chart("create_bar_chart", labels=["a", "b"], series=series, unit="ms"))
    assert tips(drawn) == ["a: 1.25\u202fms", "b: −3\u202fms"]


@pytest.mark.req("chart-gaps")
class TestGaps:
    def test_a_missing_value_is_a_gap_and_never_zero(self) -> None:
        members = {
            "labels": ["a", "b", "c", "d", "e"],
            "series": [{"name": "s", "values": [1, 2, None, 3, 4]}],
        }
        line = chart("create_line_chart", **members)
        assert len(tips(to_svg(line))) == 4
        path = max(re.findall(r' d="([^"]*)"', to_svg(line)), key=lambda d: d.count("L"))
        assert path.count("M") == 2, "the line is broken"
        assert grid(line).rows[2] == ("c", None)
        assert summary(line).startswith("Line chart of 5 categories. Highest: 4 (e); lowest: 1 (a)")
        assert "1 value is missing" in summary(line)
        assert len(tips(to_svg(chart("create_bar_chart", **members)))) == 4

    def test_a_chart_of_nothing_known_is_refused(self) -> None:
        nothing = {"id": "x", "labels": ["a"], "series": [{"name": "s", "values": [None]}]}
        for tool in ("create_bar_chart", "create_stacked_bar_chart", "create_area_chart"):
            assert pointers(tool, nothing) == ["/series"]
        rows = [{"label": "r", "values": [None]}]
        assert pointers("create_heat_map_chart", {"id": "x", "columns": ["a"], "rows": rows}) == [
            "/rows"
        ]


@pytest.mark.req("chart-time")
class TestTime:
    def test_dates_are_spaced_by_time(self) -> None:
        labels = ["2026-01-01", "2026-01-02", "2026-01-31"]
        line = chart(
            "create_line_chart",
            labels=labels,
            time=True,
            series=[{"name": "s", "values": [1, 2, 3]}],
        )
        places = [
            float(x)
            for x in re.findall(r'transform="translate\(([\d.]+),[^>]*><title>', to_svg(line))
        ]
        (first, second, last) = places
        assert (last - first) / (second - first) == pytest.approx(30, rel=1e-3)
        assert "2026-01-31" in texts(to_svg(line))

    @pytest.mark.parametrize(
        ("labels", "places"),
        [
            (["2026", "2027"], []),
            (["2026-02-28", "2026-03"], []),
            (["2024-02-29", "2026-02-29"], ["/labels/1"]),
            (["2026-01-02", "2026-01-01"], ["/labels/1"]),
            (["2026-01-01", "2026-01-01"], ["/labels/1"]),
            (["Q1", "1/2/2026"], ["/labels/0", "/labels/1"]),
            (["2026-01-01T23:59", "2026-01-01T24:00"], ["/labels/1"]),
        ],
    )
    def test_labels_must_be_dates_in_order(self, labels: list[str], places: list[str]) -> None:
        series = [{"name": "s", "values": [1, 2]}]
        arguments = {"id": "x", "labels": labels, "series": series, "time": True}
        assert pointers("create_line_chart", arguments) == places
        assert pointers("create_line_chart", {**arguments, "time": False}) == []

    @given(st.datetimes())
    def test_a_date_is_the_one_that_every_calendar_has(self, moment: Any) -> None:
        from datetime import UTC, datetime

        moment = moment.replace(microsecond=0, tzinfo=UTC)
        since = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000
        assert milliseconds(moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")) == since


@pytest.mark.req("chart-axes")
def test_axes_have_their_words_and_lines_their_values() -> None:
    drawn = texts(
        to_svg(
            chart(
                "create_line_chart",
                labels=["a", "b"],
                series=[{"name": "s", "values": [1, 2]}, {"name": "t", "values": [1, 2]}],
                label_title="Week",
                value_title="Latency",
                unit="ms",
                references=[{"value": 40, "label": "limit"}],
            )
        )
    )
    assert {"Week", "Latency (ms)", "limit 40\u202fms"} <= set(drawn)
    points = [{"name": "s", "points": [{"x": 1, "y": 2}]}]
    scatter = chart("create_scatter_chart", series=points, x_title="Load", y_title="Delay")
    assert {"Load", "Delay"} <= set(texts(to_svg(scatter)))
    assert grid(scatter).columns == ("Series", "Load", "Delay")


@pytest.mark.req("chart-axes")
def test_a_source_stands_below_the_figure() -> None:
    call = (
        "create_pie_chart",
        {"id": "x", "segments": [{"label": "a", "value": 1}], "source": "<b>survey</b>"},
    )
    note = parse(to_html(report("", [call]))).one("p", class_="note")
    assert note.text == "Source: <b>survey</b>"


@pytest.mark.req("chart-labels")
def test_a_value_below_zero_stands_outside_of_its_bar() -> None:
    line = BarChart(id="x", labels=("a", "b"), series=(Series(name="s", values=(4.0, -4.0)),))
    layers = vega_lite(line)["layer"]
    below = next(r for r in layers if r.get("mark", {}).get("dy") == 9)
    assert below["encoding"]["text"]["field"] == "below"
    rows = vega_lite(line)["data"]["values"]
    assert [(r["above"], r["below"]) for r in rows] == [("4", ""), ("", "−4")]


@pytest.mark.req("chart-histogram")
@given(st.lists(FINITE, min_size=1, max_size=60), st.integers(0, 40))
@example([0.1, 0.2, 0.3], 2)
@example([1e-40, 3e38], 7)
@example([5.0, 5.0], 0)
def test_every_value_is_counted_once_in_the_bin_that_holds_it(
    values: list[float], wanted: int
) -> None:
    found = bins_of(HistogramChart(id="x", values=tuple(values), bins=wanted))
    assert sum(b.count for b in found) == len(values)
    assert 1 <= len(found) <= max(wanted, 8) + 2
    for b in found[:-1]:
        assert b.count == sum(b.low <= v < b.high for v in values)
    assert found[0].low <= min(values) and max(values) <= found[-1].high


@pytest.mark.req("chart-box-plot")
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=50))
def test_quartiles_are_those_of_the_standard_library(values: list[int]) -> None:
    box = box_of(BoxGroup(label="g", values=tuple(map(float, values))))
    wanted = quantiles(map(Fraction, values), n=4, method="inclusive")
    assert (box.q1, box.median, box.q3) == pytest.approx([float(w) for w in wanted])
    reach = 1.5 * (box.q3 - box.q1)
    assert box.low >= box.q1 - reach and box.high <= box.q3 + reach
    assert len(box.outliers) + sum(box.low <= v <= box.high for v in values) == len(values)


@pytest.mark.req("palette")
def test_the_values_in_a_heat_map_can_be_read_in_every_theme() -> None:
    css = stylesheet("report.css")
    themes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", b)) for b in css.split(":root {")[1:]]
    for theme in themes:
        for step in range(1, 7):
            words = theme["ink"] if step <= 3 else theme["heat-ink"]
            assert _contrast(words, theme[f"heat-{step}"]) >= 4.5, (step, theme["paper"])
    assert [themes[0][f"heat-{n}"] for n in range(1, 7)] == list(HEAT)


@pytest.mark.req("chart-svg")
@pytest.mark.parametrize("call", CHARTS, ids=lambda c: c[1]["id"])
def test_the_page_knows_every_colour(call: Any) -> None:
    css = stylesheet("report.css")
    for canvas in (WIDE, NARROW):
        svg = to_svg(load(*call), canvas)  # type: ignore[arg-type]
        colours = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', svg))
        assert colours - {"#1b2026"} <= set(re.findall(r'"(#[0-9a-f]{6})"', css))


@pytest.mark.req("chart-cache")
def test_a_chart_is_drawn_once_and_then_remembered() -> None:
    one = LineChart(id="one", labels=("u", "v"), series=(Series(name="s", values=(7.125, 3.5)),))
    first, before = to_svg(one), drawing_of.cache_info()
    assert to_svg(one.replace(id="two")).replace("chart-two", "chart-one") == first
    after = drawing_of.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 0)
    assert after.maxsize
