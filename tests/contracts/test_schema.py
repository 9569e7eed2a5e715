"""Schema errors for a value that breaks a bound."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.contracts.schema import compile_schema

pytestmark = pytest.mark.req("schema-bounds")


@pytest.mark.parametrize(
    ("keyword", "limit", "value", "actual"),
    [
        ("maxLength", 2, "abc", 3),
        ("minLength", 2, "a", 1),
        ("maxItems", 1, [1, 2], 2),
        ("minItems", 2, [1], 1),
        ("maxProperties", 1, {"a": 1, "b": 2}, 2),
        ("minProperties", 2, {"a": 1}, 1),
        ("maximum", 5, 6, 6),
        ("minimum", 5, 4, 4),
        ("exclusiveMaximum", 5, 5, 5),
        ("exclusiveMinimum", 5, 5, 5),
        ("multipleOf", 5, 7, 7),
    ],
)
def test_a_broken_bound_is_named_with_what_was_there(
    keyword: str, limit: int, value: Any, actual: int
) -> None:
    schema = {"type": "object", "properties": {"x": {keyword: limit}}}
    (problem,) = compile_schema(schema).problems({"x": value})
    assert (problem.pointer, problem.limit, problem.actual) == ("/x", limit, actual)
