"""How long the next reply may be, to the token."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.contracts.definition import toolset
from artificer.core.budget import SHORTEST_REPLY, reply_tokens
from artificer.core.price import Price
from artificer.core.spec import Limits, RunSpec
from artificer.errors import InvalidValueError
from artificer.values.model import Usage

pytestmark = pytest.mark.req("loop-limits")

DOLLAR = 1_000_000
"""Micro-dollars; also the price of a million tokens at a micro-dollar each."""


def longest(limits: Limits, *, price: Price | None = None, **spent: Any) -> int | str:
    """The longest reply after 1,000 tokens in and 500 out, to a request of 100."""
    spec = RunSpec(
        kind="chat",
        prompt="Go.",
        model="m",
        provider="scripted",
        toolset=toolset(()).to_text(),
        limits=limits,
        price=price,
    )
    return reply_tokens(spec, Usage(input_tokens=1_000, output_tokens=500), 1_500, 100)


@pytest.mark.req("limits-recorded")
@pytest.mark.parametrize("name", [n for n in Limits.field_names() if n != "waiting_counts"])
def test_a_limit_is_a_number_that_a_journal_can_hold(name: str) -> None:
    highest = 2**53 - 1
    assert Limits.from_json(Limits(**{name: highest}).to_json()) == Limits(**{name: highest})
    for too_high in (highest + 1, 2**64, 10**20):
        with pytest.raises(InvalidValueError, match=f"Limits: /{name} must be .* <= {highest}"):
            Limits(**{name: too_high})


def test_the_shortest_reply_that_is_worth_its_request() -> None:
    assert SHORTEST_REPLY == 256


@pytest.mark.parametrize(
    ("left", "expected"),
    [(255, "cost_limit"), (256, 256), (257, 257), (4_096, 4_096), (9_999, 4_096)],
)
def test_a_reply_that_the_cost_limit_cuts_below_the_floor_is_not_asked_for(
    left: int, expected: int | str
) -> None:
    price = Price(input=DOLLAR, output=DOLLAR)
    assert longest(Limits(cost_micros=1_600 + left), price=price) == expected


@pytest.mark.parametrize(("left", "expected"), [(9, "cost_limit"), (10, 10), (11, 10)])
def test_a_run_that_wants_shorter_replies_has_no_higher_floor(
    left: int, expected: int | str
) -> None:
    limits = Limits(cost_micros=1_600 + left, max_tokens=10)
    assert longest(limits, price=Price(input=DOLLAR, output=DOLLAR)) == expected


@pytest.mark.parametrize(("most", "expected"), [(1_599, "cost_limit"), (1_600, 4_096)])
def test_replies_that_cost_nothing_need_no_room(most: int, expected: int | str) -> None:
    limits = Limits(cost_micros=most)
    assert longest(limits, price=Price(input=DOLLAR, output=0)) == expected


@pytest.mark.parametrize(
    ("left", "expected"), [(255, "token_limit"), (256, 256), (4_096, 4_096), (9_999, 4_096)]
)
def test_a_reply_that_the_token_limit_cuts_below_the_floor_is_not_asked_for(
    left: int, expected: int | str
) -> None:
    assert longest(Limits(total_tokens=1_600 + left)) == expected


@pytest.mark.parametrize(
    ("context", "expected"), [(150, 256), (356, 256), (357, 257), (9_999, 4_096)]
)
def test_a_reply_is_as_long_as_the_model_reads_but_not_below_the_floor(
    context: int, expected: int
) -> None:
    assert longest(Limits(context_tokens=context)) == expected
