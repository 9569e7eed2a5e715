"""Charts: complete, named, told apart without colour, and the same bytes every time."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from render_sample import CALLS

from artificer.artifacts.catalog import load
from artificer.artifacts.chart import (
    BarChart,
    Chart,
    LineChart,
    PieChart,
    Point,
    PointSeries,
    ScatterChart,
    Segment,
    StackedBarChart,
)
from artificer.artifacts.chart_fields import Series, StackedSeries
from artificer.errors import InvariantError
from artificer.render.charts import NARROW, WIDE, Canvas, to_svg, vega_lite
from artificer.render.charts.labels import Spot, corners
from artificer.render.charts.measure import fitted, width
from artificer.render.charts.style import PALETTE
from artificer.render.charts.summary import summary
from artificer.render.charts.words import CHARTS, grid
from artificer.render.numbers import ENGLISH
from artificer.render.stylesheet import stylesheet
from artificer.render.text import anchor

SVG = "{http://www.w3.org/2000/svg}"
CHART_CALLS = [call for call in CALLS if call[0].endswith("_chart")]


def charts() -> list[Chart]:
    loaded = [load(*call) for call in CHART_CALLS]
    return [chart for chart in loaded if isinstance(chart, CHARTS)]


@pytest.mark.req("chart-svg")
@pytest.mark.parametrize("chart", charts(), ids=lambda c: type(c).__name__)
class TestSvg:
    def test_it_is_named_and_self_contained(self, chart: Chart) -> None:
        root = ElementTree.fromstring(to_svg(chart))
        title, description = root[0], root[1]
        assert root.get("role") == "img"
        assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
        assert (title.text, description.text) == (chart.title, summary(chart))
        kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert kinds <= {"svg", "title", "desc", "g", "path", "line", "rect", "text", "tspan"}
        assert not [e for e in root.iter() if {"href", "style", "class"} & set(e.attrib)]

    def test_the_same_data_gives_the_same_bytes(self, chart: Chart) -> None:
        assert to_svg(chart) == to_svg(chart.replace())

    def test_its_words_are_text(self, chart: Chart) -> None:
        words = {e.text for e in ElementTree.fromstring(to_svg(chart)).iter(f"{SVG}text")}
        labels = (
            {s.label for s in chart.segments}
            if isinstance(chart, PieChart)
            else {s.name for s in chart.series}
        )
        assert labels <= words

    def test_the_page_knows_every_colour(self, chart: Chart) -> None:
        css = stylesheet("report.css")
        colours = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', to_svg(chart)))
        ink = {"#1b2026"}
        assert colours - ink <= set(re.findall(r'"(#[0-9a-f]{6})"', css))


@pytest.mark.req("chart-svg")
def test_lines_differ_in_dash_and_points_in_shape() -> None:
    lines = next(c for c in charts() if isinstance(c, LineChart))
    root = ElementTree.fromstring(to_svg(lines))
    dashes = {e.get("stroke-dasharray") for e in root.iter(f"{SVG}path") if e.get("stroke")}
    assert len(dashes - {None}) == len(lines.series) - 1, "and the first is whole"


@pytest.mark.req("chart-labels")
@given(st.text(alphabet="aW 漢🧪é", max_size=60), st.integers(20, 300))
def test_a_label_is_whole_or_ends_in_an_ellipsis_and_fits(text: str, pixels: int) -> None:
    shown = fitted(text, pixels)
    if width(text) <= pixels:
        assert shown == text
        return
    kept = shown.removesuffix("…")
    assert shown == kept + "…" and text.startswith(kept)
    assert width(shown) <= pixels
    more = text[: len(kept) + 1 + len(text[len(kept) :]) - len(text[len(kept) :].lstrip())]
    assert width(more + "…") > pixels, "no more of it would have fitted"


@pytest.mark.req("chart-labels")
def test_a_long_label_of_a_chart_ends_in_an_ellipsis() -> None:
    long = "A very long category that nobody would read at an axis at all"
    series = (Series(name=long, values=(1.0,) * 9), Series(name="s", values=(2.0,) * 9))
    labels = (long, *"abcdefgh")
    texts = drawn(BarChart(id="x", labels=labels, series=series))
    (legend,) = (e.text for e in texts if e.text and e.text.startswith("A very long"))
    assert legend.endswith("…") and len(legend) < len(long)
    (label,) = (e for e in texts if len(list(e)) > 1)
    assert " ".join(line.text or "" for line in label) == long, "at the axis it is whole"


@pytest.mark.req("chart-labels")
@pytest.mark.parametrize("canvas", [WIDE, NARROW])
def test_long_labels_that_begin_alike_are_told_apart(canvas: Canvas) -> None:
    labels = tuple(f"{'A very long category of the north ' * 3}{n}" for n in range(8))
    series = (Series(name="s", values=(1.0,) * 8),)
    for kind in (BarChart, LineChart, StackedBarChart):
        values = (
            (StackedSeries(name="s", values=(1.0,) * 8),) if kind is StackedBarChart else series
        )
        texts = drawn(kind(id="x", labels=labels, series=values), canvas)  # type: ignore[arg-type]
        whole = {" ".join((e.text or "", *(t.text or "" for t in e))).strip() for e in texts}
        assert len({w for w in whole if w.startswith("A very")}) == 8


def drawn(chart: Chart, canvas: Canvas = WIDE) -> list[ElementTree.Element]:
    """The texts of the drawing."""
    return list(ElementTree.fromstring(to_svg(chart, canvas)).iter(f"{SVG}text"))


def _luminance(colour: str) -> float:
    """WCAG 2.2 relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.req("palette")
def test_every_colour_stands_out_on_its_paper() -> None:
    """WCAG 2.2: 3:1 for graphics (1.4.11), 4.5:1 for text (1.4.3), in the light and in the dark."""
    css = stylesheet("report.css")
    themes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", b)) for b in css.split(":root {")[1:]]
    assert len(themes) == 3
    for theme in themes:
        for number, colour in enumerate(PALETTE, 1):
            assert _contrast(theme[f"chart-{number}"], theme["paper"]) >= 3, (number, colour)
        for name in ("ink", "soft", "accent"):
            assert _contrast(theme[name], theme["paper"]) >= 4.5, name
        assert _contrast(theme["warn-ink"], theme["warn-paper"]) >= 4.5
        assert _contrast(theme["stop-ink"], theme["stop-paper"]) >= 4.5
    assert [themes[0][f"chart-{n}"] for n in range(1, 9)] == list(PALETTE)


@pytest.mark.req("chart-words")
@pytest.mark.parametrize(
    ("chart", "words"),
    [
        (
            BarChart(id="x", labels=("a", "b"), series=(Series(name="s", values=(1.0, 2.5)),)),
            "Bar chart of 2 categories. Highest: 2.5 (b); lowest: 1 (a).",
        ),
        (
            LineChart(id="x", labels=("a", "b"), series=(Series(name="s", values=(5.0, -5.0)),)),
            "Line chart of 2 categories. Highest: 5 (a); lowest: -5 (b). s falls from 5 to -5.",
        ),
        (
            BarChart(id="x", labels=("a",), series=(Series(name="s", values=(0.0,)),)),
            "Bar chart of 1 category. Every value is 0.",
        ),
        (
            PieChart(id="x", segments=(Segment(label="a", value=3), Segment(label="b", value=1))),
            "Pie chart of 2 segments. Largest: a, 75%; smallest: b, 25%.",
        ),
        (
            ScatterChart(id="x", series=(PointSeries(name="s", points=(Point(x=1, y=2010),)),)),
            "Scatter chart of 1 point in 1 series. x from 1 to 1, y from 2010 to 2010.",
        ),
    ],
)
def test_a_chart_is_summed_up_in_words(chart: Chart, words: str) -> None:
    assert summary(chart) == words


@pytest.mark.req("chart-words")
@pytest.mark.parametrize("chart", charts(), ids=lambda c: type(c).__name__)
def test_the_grid_holds_every_number(chart: Chart) -> None:
    numbers = [c for row in grid(chart).rows for c in row if isinstance(c, int | float)]
    dumped: Any = chart.to_json()
    if isinstance(chart, PieChart):
        assert numbers == [s["value"] for s in dumped["segments"]]
    elif isinstance(chart, ScatterChart):
        assert numbers == [p[a] for s in dumped["series"] for p in s["points"] for a in "xy"]
    else:
        assert sorted(numbers) == sorted(v for s in dumped["series"] for v in s["values"])


@pytest.mark.req("chart-words")
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_exactly(value: float) -> None:
    assert float(ENGLISH.figure(value).replace(",", "")) == value


@pytest.mark.req("chart-svg")
@pytest.mark.parametrize("value", [0.0, -0.0, 5e-324, 1e300, -1e300, 1e-9, 123456789.0])
def test_extreme_values_draw(value: float) -> None:
    for kind in (BarChart, LineChart):
        series = (Series(name="s", values=(value, 0.0)),)
        drawn = to_svg(kind(id="x", labels=("a", "b"), series=series))
        assert "<path" in drawn
        assert "NaN" not in drawn
    points = (Point(x=value, y=-value, label="here"), Point(x=-value, y=value))
    drawn = to_svg(ScatterChart(id="x", series=(PointSeries(name="s", points=points),)))
    assert ">here<" in drawn
    assert "NaN" not in drawn


@pytest.mark.req("charts-optional")
def test_what_cannot_be_drawn_says_so() -> None:
    series = (Series(name="s", values=(1.7e308, -1.7e308)),)
    with pytest.raises(InvariantError, match=r"2e\+308 is too large"):
        to_svg(BarChart(id="x", labels=("a", "b"), series=series))


@pytest.mark.req("chart-svg")
def test_the_largest_charts_draw() -> None:
    labels = tuple(f"{n} " + "long label " * 8 for n in range(32))
    series = tuple(Series(name=f"{n} " + "name " * 12, values=(1.0,) * 32) for n in range(8))
    assert to_svg(BarChart(id="x", labels=labels, series=series)).count("<path") >= 256
    segments = tuple(Segment(label=f"s{n}", value=float(n)) for n in range(24))
    pie = to_svg(PieChart(id="x", segments=segments))
    assert all(f">{n + 1}. s{n}<" in pie for n in range(24))


@pytest.mark.req("chart-labels")
def test_labels_of_points_never_cover_each_other() -> None:
    spots = [Spot(100 + n, 100 + n, f"label {n}") for n in range(8)]
    placed = [corner for corner in corners(spots, 400) if corner]
    assert 0 < len(placed) <= 4
    assert corners([Spot(390, 50, "at the edge")], 400) == ["left_above"]
    assert corners([Spot(200, 50, "")], 400) == [""]


@pytest.mark.req("html-citations")
@given(st.text(), st.text())
def test_different_artifacts_have_different_anchors(one: str, other: str) -> None:
    assert (anchor("file", one) == anchor("file", other)) == (one == other)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", anchor("file", one))


@pytest.mark.req("chart-spec-ours")
def test_a_specification_fetches_nothing() -> None:
    for chart in charts():
        data = vega_lite(chart)["data"]
        assert set(data) == {"values"}


@pytest.mark.req("chart-svg")
def test_a_pie_is_as_wide_as_its_labels_need() -> None:
    """Short labels leave no blank half that a phone would have to scroll through."""

    def wide(label: str) -> int:
        segments = (Segment(label=label, value=1.0), Segment(label="b", value=2.0))
        return int(to_svg(PieChart(id="x", segments=segments)).split('width="')[1].split('"')[0])

    assert wide("Adults") < 400 < wide("a label of many words, " * 3) < 760
