"""The numbers behind histograms and box plots, computed from the values in the payload."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

from artificer.artifacts.more_charts import BoxGroup, HistogramChart

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_EXACT = Context(prec=700, Emax=10_000, Emin=-10_000)
"""Every double is exact in this context, so that a value on an edge is counted once."""


@dataclass(frozen=True)
class Bin:
    """The values from ``low`` up to ``high``, which belongs to the next bin."""

    low: float
    high: float
    count: int


def bins_of(chart: HistogramChart) -> tuple[Bin, ...]:
    """Return bins of one round width that cover all values. The last one includes its end."""
    values = [Decimal(repr(float(value))) for value in chart.values]
    low, high = min(values), max(values)
    if low == high:
        return (Bin(float(low), float(high), len(values)),)
    wanted = chart.bins or math.ceil(math.log2(len(values))) + 1
    step = _round_step(_EXACT.subtract(high, low) / wanted)
    first = int((low / step).to_integral_value("ROUND_FLOOR", _EXACT))
    last = int((high / step).to_integral_value("ROUND_CEILING", _EXACT))
    counts = [0] * max(1, last - first)
    for value in values:
        place = int((value / step).to_integral_value("ROUND_FLOOR", _EXACT)) - first
        counts[min(place, len(counts) - 1)] += 1
    return tuple(
        Bin(float((first + n) * step), float((first + n + 1) * step), count)
        for n, count in enumerate(counts)
    )


def round_steps(low: Decimal, high: Decimal, limit: int) -> tuple[float, ...]:
    """Return the edges of at most ``limit`` steps of one round width that cover two values."""
    step = _round_step(_EXACT.divide(_EXACT.subtract(high, low), Decimal(limit)))
    while True:
        first = int(_EXACT.divide(low, step).to_integral_value("ROUND_FLOOR", _EXACT))
        last = int(_EXACT.divide(high, step).to_integral_value("ROUND_CEILING", _EXACT))
        if last - first <= limit:
            return tuple(float(n * step) for n in range(first, last + 1))
        step = _round_step(_EXACT.multiply(step, Decimal("1.01")))


def _round_step(least: Decimal) -> Decimal:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that is at least ``least``."""
    power = Decimal(1).scaleb(least.adjusted())
    return next(step * power for step in _STEPS if step * power >= least)


@dataclass(frozen=True)
class Box:
    """The spread of a group: whiskers, quartiles, and the values beyond the whiskers."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    outliers: tuple[float, ...]


def box_of(group: BoxGroup) -> Box:
    """Return the quartiles by linear interpolation, and whiskers as Tukey drew them.

    A whisker ends at the outermost value within one and a half times the height of the box.
    """
    values = sorted(float(value) for value in group.values)
    q1, median, q3 = (_quantile(values, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (q3 - q1)
    inside = [v for v in values if q1 - reach <= v <= q3 + reach] or values
    outliers = [v for v in values if v < inside[0] or v > inside[-1]]
    return Box(inside[0], q1, median, q3, inside[-1], tuple(outliers))


def _quantile(values: Sequence[float], share: float) -> float:
    """Return the value at a share of the way through sorted values (type 7 of Hyndman and Fan)."""
    place = share * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    part = place - below
    return values[below] if not part else values[below] * (1 - part) + values[above] * part
