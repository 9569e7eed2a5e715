"""Descriptions of a place in a schema, for a model that got it wrong."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.contracts.described import description_at

pytestmark = pytest.mark.req("schema-described")

CITY = {"type": "string", "description": "In capital letters."}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (of(city=CITY), "/city"),
        (of(city={"anyOf": [CITY, {"type": "null"}]}), "/city"),
        (of(place=of(city=CITY)), "/place/city"),
        (of(cities={"type": "array", "items": CITY}), "/cities/3"),
        (of(cities={"description": "In capital letters.", "items": {}}), "/cities/3"),
        ({**of(city={"$ref": "#/$defs/City"}), "$defs": {"City": CITY}}, "/city"),
        (of(**{"a/b~c": CITY}), "/a~1b~0c"),
        (of(city=CITY), "/city/unknown/0"),
    ],
)
def test_the_nearest_description(schema: dict[str, Any], pointer: str) -> None:
    assert description_at(schema, pointer) == "In capital letters."


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (of(city=CITY), ""),
        (of(city=CITY), "/other"),
        (of(city={"type": "string", "description": "  "}), "/city"),
        (of(city={"type": "string", "description": 7}), "/city"),
        ({}, "/city"),
        (of(city={"$ref": "https://elsewhere"}), "/city"),
    ],
)
def test_none_is_empty(schema: dict[str, Any], pointer: str) -> None:
    assert description_at(schema, pointer) == ""


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    node: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/Node"}] * 40}
    schema: dict[str, Any] = {**node, "$defs": {"Node": {**node, **of(a=node)}}}
    assert description_at(schema, "/a" * 200) == ""
