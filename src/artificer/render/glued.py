"""Digits, signs and formulas next to a value that could pass for a part of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from unicodedata import category

_MARKUP = re.compile(r"[*_~`\\]")
_RUN_BEFORE = re.compile(r"[^\s(\[|\"“„«:—]*$")
_RUN_AFTER = re.compile(r"[^\s)\]|\"”»:;!?—]*")
_GROUP_BEFORE = re.compile(r"(?<!\d)\d{1,3}\s?$")
_GROUP_AFTER = re.compile(r"\s?\d{3}(?!\d)")


def is_glued(before: str, after: str) -> bool:
    """Return whether the text around a value could pass for a part of it.

    ``1{value}``, ``-{value}``, ``{value}000``, ``{value}e6`` and ``{value}k`` could, and so could
    two values without anything between them. What Markdown takes away does not keep them apart.
    """
    before, after = _MARKUP.sub("", before), _MARKUP.sub("", after)
    near, far = before[-1:], after[:1]
    if _GROUP_BEFORE.search(before) or _GROUP_AFTER.match(after):
        return True
    if category(near or " ") in ("Pd", "Sm", "Cf") and near != "—" and "|" not in near:
        return True
    if near in (".", ",", "'", "’") or far in ("'", "’") or (far.isascii() and far.isalpha()):
        return True
    runs = (_RUN_BEFORE.search(before), _RUN_AFTER.match(after))
    return any(_numeric(character) for run in runs if run for character in run[0])


def _numeric(character: str) -> bool:
    return character in "&{}" or category(character)[0] == "N" or category(character) == "Cf"


_FORMULA = "\ufffc"
_FIGURES = _FORMULA * 2
"""The signs that replace a formula, and one that holds digits."""


def glued_by_formulas(pieces: Iterable[tuple[str, bool]], mark: re.Pattern[str]) -> Iterator[int]:
    """Yield the numbers of the marks that a formula touches, or one with digits a space away.

    ``pieces`` are the text and the formulas of a paragraph in order, each with whether it is one.
    Both are read as one run: ``$-${value}`` and ``$17$ {value}`` could pass for other values.
    """
    text = "".join(_replaced(content) if is_formula else content for content, is_formula in pieces)
    found = mark.pattern
    near = f"(?:{_FORMULA}|{_FIGURES}\\s){found}|{found}(?=\\s?{_FIGURES}|{_FORMULA})"
    for match in re.finditer(near, text):
        yield int(match[1] or match[2])


def _replaced(formula: str) -> str:
    return _FIGURES if re.search(r"\d", formula) else _FORMULA
