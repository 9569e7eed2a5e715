"""A dated table of the prices of well-known models. Prices change, and a bill is the vendor's.

``[prices."provider/model"]`` in ``artificer.toml`` replaces a row. A run records the price that it
starts with, so its cost does not change when the table does.

    >>> from artificer import prices
    >>> row = prices.row_of("anthropic/claude-opus-4-5-20251101")
    >>> row.model, row.input, row.output
    ('anthropic/claude-opus-4-5', 5.0, 25.0)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import rtoml

from artificer.core.price import Price
from artificer.money import PriceConfig, TierConfig

_SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})\Z")
"""The date of a snapshot of a model, which costs as much as the model."""


class PriceRow(PriceConfig):
    """The price of a ``provider/model`` in dollars per million tokens.

    ``source`` is the vendor's page and ``as_of`` the date of the figures.
    """

    model: str
    source: str
    as_of: str


def table() -> tuple[PriceRow, ...]:
    """Return all rows."""
    return tuple(map(_row, _rows().values()))


def priced_models() -> list[str]:
    """Return the models of the table as ``provider/model``, newest first where names show it."""
    return sorted(_rows(), reverse=True)


def row_of(model: str) -> PriceRow | None:
    """Return the row of a ``provider/model``, or of the model that it is a dated snapshot of."""
    name = model.replace("openai-chat/", "openai/", 1)
    row = _rows().get(name) or _rows().get(_SNAPSHOT.sub("", name))
    return None if row is None else _row(row)


@lru_cache(maxsize=64)
def price_of(model: str) -> Price | None:
    """Return the price of a ``provider/model``, or None if it is unknown, which is not zero."""
    row = row_of(model)
    return None if row is None else row.value


@lru_cache(maxsize=1)
def _rows() -> Mapping[str, dict[str, Any]]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {row["model"]: row for row in rtoml.loads(text)["row"]}


def _row(row: dict[str, Any]) -> PriceRow:
    tiers = tuple(TierConfig(**tier) for tier in row.get("tiers", ()))
    return PriceRow(**{**row, "as_of": str(row["as_of"]), "tiers": tiers})
