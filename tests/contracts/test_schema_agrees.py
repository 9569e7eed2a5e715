"""The quick answer to whether a value is valid, and the list of everything wrong with it."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from artificer.contracts.schema import MAX_PROBLEMS, Schema, compile_schema

pytestmark = pytest.mark.req("schema-agrees")

NAMES = st.sampled_from(["a", "b", "c/d", "é"])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([0.5, 2.0, -1.25]),
    st.sampled_from(["", "a", "ab", "b7", "é😀", "2026-11-22", "host.example"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SIZES = st.integers(0, 3)


def _leaf_schemas() -> st.SearchStrategy[Any]:
    bounds = st.fixed_dictionaries(
        {},
        optional={
            "minLength": SIZES,
            "maxLength": SIZES,
            "minItems": SIZES,
            "maxItems": SIZES,
            "minProperties": SIZES,
            "minimum": st.integers(-2, 5),
            "exclusiveMaximum": st.integers(0, 9),
            "multipleOf": st.integers(1, 4),
            "pattern": st.sampled_from(["^a", "b$", "^[a-z0-9]*$"]),
            "uniqueItems": st.booleans(),
        },
    )
    kinds = st.sampled_from(
        ["string", "integer", "number", "boolean", "null", "array", "object", ["string", "null"]]
    )
    return st.one_of(
        st.booleans(),
        st.builds(lambda kind: {"type": kind}, kinds),
        st.builds(lambda kind, rules: {"type": kind, **rules}, kinds, bounds),
        bounds,
        st.builds(lambda options: {"enum": options}, st.lists(VALUES, min_size=1, max_size=3)),
        st.builds(lambda value: {"const": value}, VALUES),
        st.just({"$ref": "#/$defs/short"}),
    )


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    objects = st.fixed_dictionaries(
        {"properties": st.dictionaries(NAMES, inner, max_size=3)},
        optional={
            "type": st.just("object"),
            "required": st.lists(NAMES, unique=True, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "dependentRequired": st.just({"a": ["b"]}),
            "unevaluatedProperties": st.booleans(),
        },
    )
    return st.one_of(
        objects,
        st.fixed_dictionaries({"items": inner}, optional={"contains": inner}),
        st.builds(lambda many, rest: {"prefixItems": many, "items": rest}, several, inner),
        *(st.builds(lambda many, k=k: {k: many}, several) for k in ("anyOf", "oneOf", "allOf")),
        st.builds(lambda one: {"not": one}, inner),
        st.fixed_dictionaries({"if": inner, "then": inner}, optional={"else": inner}),
    )


SCHEMAS = st.recursive(_leaf_schemas(), _grown, max_leaves=8)
DEFS = {"short": {"type": "string", "maxLength": 1}}


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema of a tool's arguments, and arguments that it may or may not accept."""
    names = draw(st.sets(NAMES, max_size=3))
    schema = {
        "type": "object",
        "properties": {name: draw(SCHEMAS) for name in sorted(names)},
        "required": sorted(draw(st.sets(st.sampled_from(sorted(names)))) if names else ()),
        "additionalProperties": draw(st.booleans()),
        "$defs": DEFS,
    }
    known = st.sampled_from(sorted(names)) if names and draw(st.booleans()) else NAMES
    return schema, draw(st.dictionaries(known, VALUES, max_size=4))


@given(calls())
@settings(deadline=None)
def test_no_problem_is_listed_if_and_only_if_the_value_is_accepted(
    call: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    schema, arguments = call
    compiled = compile_schema(schema)
    listed = [*jsonschema_rs.Draft202012Validator(schema, offline=True).iter_errors(arguments)]
    assert compiled.accepts(arguments) == (not listed)
    assert bool(compiled.problems(arguments)) == bool(listed)
    assert compiled.accepts(arguments) == Draft202012Validator(schema).is_valid(arguments)


@given(calls())
@settings(deadline=None, max_examples=400)
def test_the_problems_are_those_that_the_schema_itself_gives(
    call: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    schema, arguments = call
    plain = Schema(schema)
    vars(plain)["_shown"] = schema
    assert Schema(schema).problems(arguments) == plain.problems(arguments)


EXPRESSION = {
    "anyOf": [
        *(
            {
                "type": "object",
                "properties": {"op": {"const": op}, "a": {"$ref": "#/$defs/expression"}},
                "required": ["op", "a"],
            }
            for op in ("add", "const", "anyOf", "not")
        ),
        {"type": "number"},
    ]
}


@pytest.mark.req("schema-deep-unions")
@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_a_deep_value_that_breaks_a_union_of_unions_is_explained(union: str) -> None:
    """With the errors of every branch, 40 steps would take longer than anyone waits."""
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/expression"}, "n": {"type": "integer"}},
        "$defs": {"expression": {union: EXPRESSION["anyOf"]}},
    }
    value: Any = "no number"
    for _ in range(40):
        value = {"op": "not", "a": value}
    problems = compile_schema(schema).problems({"x": value, "n": "one"})
    assert [(p.pointer, p.message) for p in problems] == [
        ("/n", "has the wrong type"),
        ("/x", f"breaks the rule '{union}'"),
    ]


MEMBER = {"properties": {"a": {"$ref": "#/$defs/n"}}}
REPEATS = {
    "all": {"allOf": [MEMBER, MEMBER]},
    "patterns": {**MEMBER, "patternProperties": {"a": {"$ref": "#/$defs/n"}}},
    "dependent": {**MEMBER, "dependentSchemas": {"a": MEMBER}},
    "inline": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}},
    "unevaluated": {"anyOf": [MEMBER, MEMBER], "unevaluatedProperties": False},
    "branch": {"anyOf": [MEMBER, {"$ref": "#/$defs/n/anyOf/0"}]},
    "dynamic": {
        "$dynamicAnchor": "n",
        "allOf": [{"properties": {"a": {"$dynamicRef": "#n"}}}] * 2,
    },
}


@pytest.mark.req("schema-deep-unions")
@pytest.mark.parametrize("repeated", REPEATS)
def test_a_schema_that_applies_itself_twice_takes_no_longer(repeated: str) -> None:
    schema = {"$defs": {"n": {"type": "object", **REPEATS[repeated]}}, "$ref": "#/$defs/n"}
    value: Any = 1
    for depth in range(60):
        value = {"a": value}
        if depth in (2, 59):
            problems = compile_schema(schema).problems(value)
            assert bool(problems) and ("too deep" in problems[0].message) == (depth == 59)


def test_a_long_value_of_a_large_union_is_explained_too() -> None:
    kinds = [{"type": "object", "properties": {"kind": {"const": n}}} for n in range(300)]
    schema = {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"oneOf": kinds}}}
    value: list[Any] = [{"kind": n % 300} for n in range(1_000)]
    problems = compile_schema(schema).problems([*value, {"kind": "x"}])
    assert [p.pointer for p in problems] == ["/1000/kind"]


@pytest.mark.parametrize(
    "other",
    [
        {"$ref": "#/properties/x/anyOf/0"},
        {"$dynamicRef": "#/properties/x/anyOf/0"},
        {"const": {"anyOf": [{"type": "string"}]}},
        {"dependentRequired": {"anyOf": ["b"]}},
        {"properties": {"anyOf": {"type": "string"}}},
        {"properties": {"const": {"anyOf": [True, {"type": "string"}, False]}}},
    ],
)
def test_words_that_look_like_a_union_are_left_alone(other: dict[str, Any]) -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "array"}]}
    schema = {"type": "object", "properties": {"x": union, "y": other}}
    plain = Schema(schema)
    vars(plain)["_shown"] = schema
    for y in (1, "a", {"anyOf": 1}, {"anyOf": [{"type": "string"}]}, {"const": 1}, []):
        value = {"x": 1, "y": y}
        assert Schema(schema).problems(value) == plain.problems(value)


@given(calls())
@settings(deadline=None)
def test_formats_count_in_both(call: tuple[dict[str, Any], dict[str, Any]]) -> None:
    schema, arguments = call
    schema["properties"]["a"] = {"type": "string", "format": "date"}
    compiled = Schema(schema, formats=True)
    checked = jsonschema_rs.Draft202012Validator(schema, offline=True, validate_formats=True)
    listed = [*checked.iter_errors(arguments)]
    assert compiled.accepts(arguments) == (not listed) == (not compiled.problems(arguments))


def test_every_violation_is_listed_at_once_with_its_place() -> None:
    schema = compile_schema(
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"items": {"maximum": 3}}},
            "required": ["c"],
            "additionalProperties": False,
        }
    )
    problems = schema.problems({"a": 1, "b": [1, 5, 9], "x/y": None})
    assert [p.pointer for p in problems] == ["/a", "/b/1", "/b/2", "/c", "/x~1y"]


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}])
def test_what_no_text_can_hold_is_not_accepted(value: Any) -> None:
    schema = compile_schema({"type": "object", "properties": {"a": {"minLength": 1, "enum": [1]}}})
    assert not schema.accepts({"a": value})
    assert schema.problems({"a": value})


ROWS: list[Any] = [{} for _ in range(2_000)]
WIDE: list[Any] = [{f"k{n}": n for n in range(100)} for _ in ROWS]


@pytest.mark.req("schema-long-values")
@pytest.mark.parametrize(
    ("rule", "items", "first"),
    [
        ({"required": [f"k{n}" for n in range(100)]}, ROWS, "/0/k0"),
        ({"enum": [{"k": n} for n in range(3_000)]}, ROWS, "/0"),
        ({"properties": {"a": {}}, "additionalProperties": False}, WIDE, "/0/k0"),
        ({"not": {"type": "object"}}, [{} for _ in range(200_000)], "/0"),
        ({"allOf": [{"$ref": "#/$defs/n"}] * 300}, [[n] for n in range(20_000)], "/0"),
        ({"anyOf": [{"enum": [*range(n, n + 4_000)]} for n in (0, 9_000)]}, ["?"] * 1_000, "/0"),
    ],
    ids=["required", "enum", "unknown", "not", "references", "union"],
)
def test_of_a_long_value_with_very_many_problems_only_the_first_are_looked_for(
    rule: dict[str, Any], items: list[Any], first: str
) -> None:
    schema = {"type": "array", "items": rule, "$defs": {"n": {"type": "string"}}}
    *problems, last = compile_schema(schema).problems(items)
    assert problems[0].pointer == first and len(problems) < MAX_PROBLEMS
    assert last.message == "and there may be more problems"


@pytest.mark.req("schema-long-values")
def test_a_long_value_with_few_problems_has_them_listed() -> None:
    row = {"required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"enum": [*"xyz"]}}}
    items: list[Any] = [{"a": n, "b": "x"} for n in range(5_000)]
    items[7], items[4_000] = {"a": "7", "b": "w"}, {}
    problems = compile_schema({"type": "array", "items": row}).problems(items)
    assert [p.pointer for p in problems] == ["/4000/a", "/7/a", "/7/b"]
