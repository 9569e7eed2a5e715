"""Strict schemas: what they accept, what comes back, and what cannot be expressed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from artificer.contracts.schema import Schema
from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT, StrictDialect
from artificer.contracts.strict_schema import MAX_NODES, strict

both = pytest.mark.parametrize("dialect", [OPENAI_STRICT, ANTHROPIC_STRICT], ids=["openai", "anth"])

SCALARS: list[tuple[dict[str, Any], st.SearchStrategy[Any]]] = [
    ({"type": "string"}, st.text(max_size=4)),
    ({"type": "string", "minLength": 2, "maxLength": 3}, st.text(max_size=4)),
    ({"type": "string", "pattern": "^a"}, st.sampled_from(["a", "ab", "b"])),
    ({"type": "integer", "minimum": 0, "maximum": 5}, st.integers(-2, 7)),
    ({"type": "number", "exclusiveMinimum": 0}, st.sampled_from([-1, 0, 0.5, 2])),
    ({"type": "boolean"}, st.booleans()),
    ({"type": ["string", "null"]}, st.sampled_from([None, "x"])),
    ({"enum": ["a", "b", 3]}, st.sampled_from(["a", "b", 3, "c"])),
    ({"const": "k"}, st.sampled_from(["k", "l"])),
    ({"$ref": "#/$defs/size", "description": "How big."}, st.sampled_from(["s", "l", "x"])),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, st.sampled_from([None, 1])),
]
DEFS = {"size": {"type": "string", "enum": ["s", "l"]}}


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> tuple[dict[str, Any], st.SearchStrategy[Any]]:
    """A schema, and values that nearly fit its strict form: nulls where they may be added."""
    kind = draw(st.sampled_from(["scalar", "object", "array", "maybe"] if depth else ["scalar"]))
    if kind == "scalar":
        return draw(st.sampled_from(SCALARS))
    if kind == "object":
        return draw(objects(depth - 1))
    schema, values = draw(schemas(depth - 1))
    if kind == "maybe":
        return {"anyOf": [schema, {"type": "null"}]}, values | st.none()
    return {"type": "array", "items": schema, "maxItems": 2}, st.lists(values, max_size=3)


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> tuple[dict[str, Any], st.SearchStrategy[Any]]:
    members = {name: draw(schemas(depth)) for name in draw(st.sets(st.sampled_from("abc")))}
    required = sorted(name for name in members if draw(st.booleans()))
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: member for name, (member, _) in members.items()},
        "required": required,
        "additionalProperties": False,
    }
    values = st.fixed_dictionaries(
        {
            name: values if name in required else values | st.none()
            for name, (_, values) in members.items()
        }
    )
    return schema, values


MOVED = {"minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "maxItems"}


def without(schema: Any, keywords: set[str]) -> Any:
    """The schema without assertions of these names."""
    if isinstance(schema, dict):
        return {k: without(v, keywords) for k, v in schema.items() if k not in keywords}
    return [without(item, keywords) for item in schema] if isinstance(schema, list) else schema


@both
@pytest.mark.req("strict-schema-sound")
@given(st.data())
def test_strict_differs_only_in_what_moved(dialect: StrictDialect, data: st.DataObject) -> None:
    schema, values = data.draw(objects())
    schema = {**schema, "$defs": DEFS}
    derived = strict(schema, dialect)
    if not derived.fits:
        return
    value = data.draw(values)
    accepted = not Schema(derived.schema).problems(value)
    pruned = derived.without_added_nulls(value)
    lenient = Schema(without(schema, MOVED - dialect.keywords))
    if accepted:
        assert lenient.problems(pruned) == ()
    elif pruned == value:
        assert lenient.problems(value) or Schema(schema).problems(value)


@pytest.mark.req("strict-schema-sound")
def test_openai_requires_all_and_reads_back_only_its_own_nulls() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "description": "Who."},
            "age": {"type": "integer", "minimum": 0},
            "note": {"type": ["string", "null"]},
            "tags": {
                "type": "array",
                "items": {"type": "object", "properties": {"x": {"enum": ["a"]}}},
            },
        },
        "required": ["name"],
    }
    derived = strict(schema, OPENAI_STRICT)
    assert derived.fits
    properties = derived.schema["properties"]
    assert derived.schema["required"] == ["name", "age", "note", "tags"]
    assert properties["name"] == {"type": "string", "description": "Who. Rules: minLength 2."}
    assert properties["age"] == {"type": ["integer", "null"], "minimum": 0}
    assert properties["tags"]["items"]["properties"]["x"]["enum"] == ["a", None]
    written = {"name": "Al", "age": None, "note": None, "tags": [{"x": None}, {"x": "a"}]}
    assert derived.without_added_nulls(written) == {
        "name": "Al",
        "note": None,
        "tags": [{}, {"x": "a"}],
    }


@pytest.mark.req("strict-schema-sound")
def test_anthropic_keeps_optional_properties_and_moves_bounds() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "s": {"type": "string"}},
        "required": ["s"],
    }
    derived = strict(schema, ANTHROPIC_STRICT)
    assert (derived.fits, derived.optional) == (True, 1)
    assert derived.schema["required"] == ["s"]
    assert derived.schema["properties"]["n"] == {
        "type": "integer",
        "description": "Rules: minimum 1.",
    }
    assert derived.without_added_nulls({"s": "x", "n": None}) == {"s": "x", "n": None}


class _Point(BaseModel):
    x: int = Field(ge=0)
    label: str | None = None


class _Plot(BaseModel):
    """A plot."""

    points: list[_Point] = Field(min_length=1)
    title: str = "Untitled"


@both
@pytest.mark.req("strict-schema-sound")
def test_pydantic_schemas_fit(dialect: StrictDialect) -> None:
    derived = strict(_Plot.model_json_schema(), dialect)
    assert derived.fits
    written = {"points": [{"x": 1, "label": None}], "title": "T"}
    assert Schema(derived.schema).problems(written) == ()
    assert derived.without_added_nulls(written) == written


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}
NESTED: dict[str, Any] = {"type": "string"}
for _ in range(12):
    NESTED = {"type": "object", "properties": {"a": NESTED}}


@both
@pytest.mark.req("strict-schema-fallback")
@pytest.mark.parametrize(
    "member",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {**OBJECT, "additionalProperties": True},
        {**OBJECT, "patternProperties": {"^x": {"type": "string"}}},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"type": "string"}]},
        {"not": {"type": "string"}},
        {},
        True,
        {"type": "array"},
        {"$ref": "#/$defs/node"},
        {"$ref": "https://example.com/schema"},
        {"anyOf": [OBJECT, {**OBJECT, "properties": {"b": {"type": "string"}}}]},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "enum": ["a", None]},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "type": "string"},
        {"enum": [{"a": 1}]},
        {"type": "string", "enum": [str(n) for n in range(MAX_NODES + 1)]},
        NESTED,
    ],
    ids=lambda member: str(member)[:40],
)
def test_what_cannot_be_expressed_stays_as_it_is(member: Any, dialect: StrictDialect) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = {"type": "object", "properties": {"m": member}, "$defs": {"node": node}}
    derived = strict(schema, dialect)
    assert not derived.fits
    assert derived.schema is schema
    assert derived.without_added_nulls({"m": None}) == {"m": None}


@both
@pytest.mark.req("strict-schema-fallback")
def test_hostile_schemas_are_given_up_at_once(dialect: StrictDialect) -> None:
    def twice(n: int) -> dict[str, Any]:
        return {"anyOf": [{"$ref": f"#/$defs/d{n}"}, {"$ref": f"#/$defs/d{n}"}]}

    doubling = {f"d{n}": twice(n + 1) for n in range(60)} | {"d60": {"type": "string"}}
    assert not strict({**OBJECT, "properties": {"a": twice(0)}, "$defs": doubling}, dialect).fits
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(MAX_NODES * 5):
        deep = {"type": "array", "items": deep}
    assert not strict({**OBJECT, "properties": {"a": deep}}, dialect).fits


@pytest.mark.req("strict-schema-fallback")
def test_patterns_that_no_grammar_expresses_move_into_the_description() -> None:
    def derived(pattern: str) -> Any:
        member = {"type": "string", "pattern": pattern}
        schema = {"type": "object", "properties": {"a": member}, "required": ["a"]}
        return strict(schema, OPENAI_STRICT).schema["properties"]["a"]

    assert derived("^(?:a|b)+$") == {"type": "string", "pattern": "^(?:a|b)+$"}
    assert derived("^(?!x)") == {"type": "string", "description": 'Rules: pattern "^(?!x)".'}
    assert derived("^(?!ü)")["description"] == 'Rules: pattern "^(?!ü)".', "as a person writes it"
