"""Schema errors for a value that breaks a bound, or a union."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.contracts.schema import compile_schema
from artificer.values.base import JsonObject, JsonValue

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


def _animal(kind: str, member: str, rule: JsonObject) -> JsonObject:
    members: JsonObject = {"kind": {"const": kind, "type": "string"}, member: rule}
    return {"type": "object", "properties": members, "required": ["kind", member]}


CAT = _animal("cat", "lives", {"type": "integer", "maximum": 9})
DOG = _animal("dog", "owner", {"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]})
PET: JsonObject = {"oneOf": [CAT, DOG]}
_ANY = "breaks the rule 'anyOf'"
COUNT: JsonObject = {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]}


@pytest.mark.req("schema-unions")
@pytest.mark.parametrize(
    ("rule", "value", "problems"),
    [
        (COUNT, 50, [("/x", "is too large", 9)]),
        (COUNT, "5", [("/x", "has the wrong type", "integer, null")]),
        (COUNT, True, [("/x", "has the wrong type", "integer, null")]),
        (PET, {"kind": "cat"}, [("/x/lives", "is required", None)]),
        (PET, {"kind": "dog", "owner": "A"}, [("/x/owner", "has too few characters", 2)]),
        ({"items": PET}, [{"kind": "cat", "lives": 10}], [("/x/0/lives", "is too large", 9)]),
        (PET, {"kind": "ox"}, [("/x/kind", "is not one of the allowed values", ("cat", "dog"))]),
        (PET, {"lives": 3}, [("/x/kind", "is required", None)]),
        ({"anyOf": [CAT, {"type": "object", "minProperties": 3}]}, {}, [("/x", _ANY, None)]),
        ({"oneOf": [{"minimum": 1}, {"maximum": 9}]}, 5, [("/x", "breaks the rule 'oneOf'", None)]),
        ({"$ref": "#/$defs/count"}, 50, [("/x", "is too large", 9)]),
        ({"anyOf": [{"$ref": "#/$defs/count"}]}, 50, [("/x", "breaks the rule 'anyOf'", None)]),
    ],
)
def test_a_value_that_can_mean_one_branch_of_a_union_is_explained_by_it(
    rule: JsonObject, value: JsonValue, problems: list[tuple[str, str, object]]
) -> None:
    """As outside of a union, the problem says how to correct it."""
    schema: JsonObject = {
        "type": "object",
        "properties": {"x": rule, "n": {"type": "null"}},
        "$defs": {"count": COUNT},
    }
    found = compile_schema(schema).problems({"x": value, "n": 1})
    assert [(one.pointer, one.message, one.limit) for one in found] == [
        ("/n", "has the wrong type", "null"),
        *problems,
    ]
