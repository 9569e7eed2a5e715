"""How numbers are written in a language: the sign before decimals, and the one between thousands.

One rule for all of them: the digits are those of canonical JSON, the shortest that read back the
same. From 21 digits on, and for less than a millionth, they have an exponent: ``1e-9``.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

_GROUP_FROM = 10_000
"""Digits are grouped in numbers of five or more digits, so that years are not."""

_LARGEST, _LEAST = 1e21, 1e-6
"""Numbers outside these have an exponent."""


class NumberForm(Struct, frozen=True):
    """The signs of a language's numbers."""

    point: str = "."
    group: str = ","

    def figure(self, value: float, *, grouped: bool | None = None) -> str:
        """Write a number exactly; without ``grouped``, its size decides.

        What is not finite has no digits: ``inf`` stays ``inf``.
        """
        digits = plain_digits(value)
        if "e" in digits or "n" in digits:
            return digits.replace(".", self.point)
        whole, point, fraction = digits.partition(".")
        if grouped if grouped is not None else abs(value) >= _GROUP_FROM:
            whole = f"{int(whole):,}".replace(",", self.group) if whole != "-0" else whole
        return whole + (self.point + fraction if point else "")

    def signed(self, value: float, *, grouped: bool | None = None) -> str:
        """Write a number with a true minus sign, as it is printed."""
        return true_minus(self.figure(value, grouped=grouped))

    def translated(self, digits: str) -> str:
        """Return digits that were written in English with the signs of this language."""
        swap = {",": self.group, ".": self.point}
        return "".join(swap.get(character, character) for character in digits)

    def percent(self, part: float, whole: float) -> str:
        """Write a share of a whole, with enough decimals that it does not read 0 %."""
        share = 100 * part / whole if whole else 0.0
        text = f"{share:.0f}" if share >= 1 or share == 0 else f"{share:.1g}"
        return f"{exponent(text).replace('.', self.point)}%"


def true_minus(digits: str) -> str:
    """Return digits with a true minus sign before them; that of an exponent stays."""
    return f"−{digits[1:]}" if digits.startswith("-") else digits


def plain_digits(value: float) -> str:
    """Return the digits of a finite number as canonical JSON has them, without a plus sign."""
    if isinstance(value, int):
        return repr(value)
    if value.is_integer() and abs(value) < _LARGEST:
        return repr(int(value))
    if _LEAST <= abs(value) < _LARGEST:
        return format(Decimal(repr(value)), "f")
    return exponent(repr(value))


def exponent(digits: str) -> str:
    """Return digits whose exponent has neither a plus sign nor zeros before it."""
    mantissa, sign, power = digits.partition("e")
    return f"{mantissa}e{int(power)}" if sign else mantissa


ENGLISH = NumberForm()
_CONTINENT = NumberForm(",", ".")
_SPACED = NumberForm(",", "\u202f")

FORMS: Mapping[str, NumberForm] = {
    "de": _CONTINENT,
    "el": _CONTINENT,
    "es": _CONTINENT,
    "it": _CONTINENT,
    "nl": _CONTINENT,
    "pt": _CONTINENT,
    "fr": _SPACED,
    "ru": _SPACED,
}
"""The forms of the languages that do not write numbers as English does."""
