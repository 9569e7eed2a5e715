"""The drawings next to those of Vega-Lite's own renderer, and the numbers at their axes."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from render_rich import CHARTS
from render_sample import CALLS

from artificer.artifacts.catalog import load
from artificer.artifacts.chart import Chart
from artificer.errors import InvariantError
from artificer.render.charts import vega_lite
from artificer.render.charts.drawn import draw
from artificer.render.charts.drawn.ticks import even_steps, niced, ticks, written
from artificer.render.charts.words import CHARTS as KINDS
from artificer.render.numbers import ENGLISH, FORMS
from needs import needs

SVG = "{http://www.w3.org/2000/svg}"
COMPARED = [
    call
    for call in (*CALLS, *CHARTS)
    if re.search("line|area|stacked", call[0]) and call[1]["id"] != "cost"
]
FINITE = st.floats(allow_nan=False, min_value=-(2.0**40), max_value=2.0**40, width=32)


def chart(call: tuple[str, object]) -> Chart:
    made = load(*call)  # type: ignore[arg-type]
    assert isinstance(made, KINDS)
    return made


def heights(svg: str) -> list[float]:
    """Where the marks with words are: the middle of points, the height of bars, sorted."""
    found = []
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        said = path.get("aria-label") or path.findtext(f"{SVG}title") or path.findtext("title")
        if not said:
            continue
        if moved := re.match(r"translate\(([\d.-]+),([\d.-]+)\)", path.get("transform", "")):
            found.append(float(moved[2]))
        elif box := re.match(r"M([\d.-]+),([\d.-]+)[hH][\d.-]+([vV])([\d.-]+)", path.get("d", "")):
            end = float(box[4]) + (float(box[2]) if box[3] == "v" else 0)
            found.append(abs(end - float(box[2])))
    return sorted(found)


@needs("vl_convert")
@pytest.mark.req("chart-drawn")
@pytest.mark.parametrize("call", COMPARED, ids=lambda c: c[1]["id"])
def test_marks_are_as_high_as_vega_lite_draws_them(call: tuple[str, object]) -> None:
    import vl_convert

    spec = vega_lite(chart(call))
    theirs = vl_convert.vegalite_to_svg(json.dumps(spec), vl_version="6.4", allowed_base_urls=[])
    ours = f'<svg xmlns="{SVG[1:-1]}">{draw(spec).body}</svg>'
    assert heights(ours) == pytest.approx(heights(theirs), abs=0.6)
    assert len(heights(ours)) >= 6


@pytest.mark.req("chart-drawn")
def test_a_mark_that_no_chart_uses_is_refused() -> None:
    spec = vega_lite(chart(CHARTS[0]))
    spec["layer"][0]["mark"] = {"type": "geoshape"}
    with pytest.raises(InvariantError, match="geoshape"):
        draw(spec)


@pytest.mark.req("chart-ticks")
@given(FINITE, FINITE, st.integers(2, 10))
@example(0.0, 5e-324, 6)
@example(-1e300, 1e300, 6)
def test_ticks_are_round_within_the_axis_and_told_apart(low: float, high: float, n: int) -> None:
    low, high = sorted((low, high))
    start, end = niced(low, high)
    assert start <= low and high <= end
    found = ticks(start, end, n)
    assert all(Decimal(repr(start)) <= t <= Decimal(repr(end)) for t in found)
    assert len(found) <= 3 * n
    shown = written(found, ENGLISH)
    assert len(set(shown)) == len(found)


@pytest.mark.req("chart-ticks")
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (("0", "0.5", "1"), ["0", "0.5", "1.0"]),
        (("0", "5000", "10000"), ["0", "5,000", "10,000"]),
        (("0", "500000", "1000000"), ["0", "0.5M", "1.0M"]),
        (("-2e9", "0", "2e9"), ["−2G", "0", "2G"]),
        (("0", "1e-9", "2e-9"), ["0", "1e-9", "2e-9"]),
        (("0", "1e25"), ["0", "1e25"]),
    ],
)
def test_an_axis_writes_its_numbers_in_one_style(values: tuple[str, ...], shown: list[str]) -> None:
    assert written([Decimal(v) for v in values], ENGLISH) == shown


@pytest.mark.req("chart-ticks")
def test_an_axis_writes_numbers_as_the_language_does() -> None:
    values = [Decimal(v) for v in ("0", "12500.5")]
    assert written(values, FORMS["de"]) == ["0", "12.500,5"]
    assert written(values, FORMS["fr"]) == ["0", "12\u202f500,5"]


@pytest.mark.req("chart-ticks")
@given(st.floats(1e-9, 1e15), st.floats(1e-9, 1e15))
def test_two_axes_have_their_numbers_at_the_same_lines(one: float, other: float) -> None:
    left, right = even_steps(one, other)
    assert len(left) == len(right) <= 7
    assert left[0] == right[0] == 0
    assert left[-1] >= one and right[-1] >= other
    assert max(one / left[-1], other / right[-1]) > 0.5
