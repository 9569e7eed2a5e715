"""Round values for an axis, as d3 chooses them, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from artificer.render.numbers import NumberForm, true_minus

_EXACT = Context(prec=40, Emin=-999_999, Emax=999_999)
_FACTORS = (
    (Decimal("7.0710678118654752"), 10),
    (Decimal("3.1622776601683793"), 5),
    (Decimal("1.4142135623730951"), 2),
)
"""From this share of a power of ten on, a step is so many times the power."""

_PREFIXES = ((12, "T"), (9, "G"), (6, "M"), (3, "k"))
_PREFIX_FROM = Decimal(100_000)
_EXPONENT_FROM, _EXPONENT_BELOW = Decimal(10) ** 15, Decimal("0.0001")
_GROUP_FROM = Decimal(10_000)


def _step(low: Decimal, high: Decimal, count: int) -> Decimal:
    raw = _EXACT.divide(_EXACT.subtract(high, low), Decimal(count))
    power = Decimal(1).scaleb(raw.adjusted(), _EXACT)
    share = _EXACT.divide(raw, power)
    factor = next((factor for least, factor in _FACTORS if share >= least), 1)
    return _EXACT.multiply(power, Decimal(factor))


def _index(value: Decimal, step: Decimal, rounding: str) -> int:
    return int(_EXACT.divide(value, step).to_integral_value(rounding, _EXACT))


def niced(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis moved outwards to round values."""
    if low == high:
        return low, high
    start, stop, before = Decimal(repr(low)), Decimal(repr(high)), None
    for _ in range(10):
        step = _step(start, stop, 10)
        if step == before:
            break
        before = step
        start = _EXACT.multiply(step, Decimal(_index(start, step, ROUND_FLOOR)))
        stop = _EXACT.multiply(step, Decimal(_index(stop, step, ROUND_CEILING)))
    return float(start), float(stop)


def ticks(low: float, high: float, count: int, least: float = 0) -> list[Decimal]:
    """Return about ``count`` round values from ``low`` to ``high``, ``least`` apart or more."""
    start, stop = Decimal(repr(float(low))), Decimal(repr(float(high)))
    if start == stop:
        return [start]
    step = max(_step(start, stop, count), Decimal(repr(float(least))))
    first, last = _index(start, step, ROUND_CEILING), _index(stop, step, ROUND_FLOOR)
    found = (_EXACT.multiply(step, Decimal(n)) for n in range(first, last + 1))
    return list({float(value): value for value in found}.values())


def written(values: Sequence[Decimal], numbers: NumberForm) -> list[str]:
    """Return the words at ticks: all with as many decimals, and with one prefix."""
    largest = max(map(abs, values), default=Decimal(0))
    if largest >= _EXPONENT_FROM or 0 < largest < _EXPONENT_BELOW:
        return [numbers.signed(float(value)) for value in values]
    power, prefix = 0, ""
    if largest >= _PREFIX_FROM:
        power, prefix = next(found for found in _PREFIXES if largest >= Decimal(10) ** found[0])
    scaled = [value.scaleb(-power, _EXACT) for value in values]
    decimals = max((_decimals(value) for value in scaled), default=0)
    grouped = largest >= _GROUP_FROM and not prefix
    return [
        "0" if not value else true_minus(_fixed(value, decimals, numbers, grouped) + prefix)
        for value in scaled
    ]


def _decimals(value: Decimal) -> int:
    exponent = value.normalize(_EXACT).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _fixed(value: Decimal, decimals: int, numbers: NumberForm, grouped: bool) -> str:
    return numbers.translated(format(value, f"{',' if grouped else ''}.{decimals}f"))


_EVEN = tuple(map(Decimal, ("1", "1.5", "2", "2.5", "3", "4", "5", "6", "8", "10")))


def even_steps(one: float, other: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return round values from 0 for two axes, as many for each, that reach both numbers."""
    highest = Decimal(repr(float(one))), Decimal(repr(float(other)))
    found = []
    for count in (4, 5, 6):
        steps = [_even_step(_EXACT.divide(high, Decimal(count))) for high in highest]
        pairs = zip(highest, steps, strict=True)
        waste = sum(1 - _EXACT.divide(high, step * count) for high, step in pairs)
        found.append((waste, count, steps))
    _, count, steps = min(found)
    first, second = (tuple(float(step * n) for n in range(count + 1)) for step in steps)
    return first, second


def _even_step(least: Decimal) -> Decimal:
    power = Decimal(1).scaleb(least.adjusted(), _EXACT)
    return next(step * power for step in _EVEN if step * power >= least)
