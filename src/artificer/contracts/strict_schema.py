"""Deriving the schemas of the providers' strict modes.

Strict mode lets a provider constrain the model's output by grammar, for a subset of JSON Schema.
What the subset lacks moves into the description, for the model to read; the gate enforces the
original schema in any case. A schema that the subset cannot express stays as it is, without
strict mode.
"""

from __future__ import annotations

import json
import re

from msgspec import Struct

from artificer.contracts.schema_refs import ANNOTATIONS, NotInlined, inline_references
from artificer.contracts.strict_dialect import StrictDialect
from artificer.contracts.strict_nulls import without_nulls
from artificer.contracts.strict_shape import (
    UnsupportedSchema,
    accepts_null,
    is_nested,
    required_of,
    types_of,
)
from artificer.values.base import JsonObject, JsonValue

MAX_NODES = 1000
"""Subschemas and enum members of one strict schema, references written out."""

_ASSERTIONS = (
    "const",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentEncoding",
    "contentMediaType",
)
_STRUCTURE = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$defs"}
)
_BEYOND_REGULAR = re.compile(r"\(\?[^:]|\\[1-9bB]")
"""Look-around, back-references, flags and word boundaries: no grammar expresses them."""


class StrictSchema(Struct, frozen=True):
    """A schema as it goes to the provider.

    ``fits`` says whether strict mode may be switched on; otherwise ``schema`` is the original.
    ``optional`` counts the properties that stay optional.
    """

    schema: JsonObject
    fits: bool
    optional: int
    _inlined: JsonObject
    _adds_nulls: bool

    def without_added_nulls(self, value: JsonObject) -> JsonObject:
        """Return the arguments without the nulls that stand for absent optional properties.

        Only a property that this derivation made nullable loses its null: one whose own schema
        allows null keeps it. Nothing else is touched.
        """
        if not self.fits or not self._adds_nulls:
            return value
        pruned = without_nulls(value, self._inlined)
        return pruned if isinstance(pruned, dict) else value


def strict(schema: JsonObject, dialect: StrictDialect) -> StrictSchema:
    """Derive the strict form of a tool's input schema.

    What does not fit: free-form objects, ``oneOf``, ``allOf``, ``not`` and conditions, recursive
    or remote references, values of any type, unions of several objects or arrays, and what is
    beyond MAX_NODES or the dialect's depth. An object that declares properties and says nothing
    about others is closed.
    """
    try:
        inlined = inline_references(schema, MAX_NODES)
        builder = _Builder(dialect)
        derived = builder.derive(inlined, 1)
        if inlined.get("type") != "object" or builder.optional > dialect.max_optional:
            raise UnsupportedSchema
    except (UnsupportedSchema, NotInlined):
        return StrictSchema(schema, False, 0, {}, False)
    return StrictSchema(derived, True, builder.optional, inlined, dialect.all_required)


# --- derivation -------------------------------------------------------------------------------


class _Builder:
    """Derives one schema, counting what strict mode bounds."""

    def __init__(self, dialect: StrictDialect) -> None:
        self._dialect = dialect
        self._nodes = 0
        self.optional = 0

    def derive(self, node: JsonObject, depth: int) -> JsonObject:
        """Return the strict form of one subschema. Raises Unfit."""
        self._count(1)
        if depth > self._dialect.max_depth:
            raise UnsupportedSchema
        if node.keys() - _STRUCTURE - ANNOTATIONS - set(_ASSERTIONS):
            raise UnsupportedSchema
        derived, moved = self._assertions(node)
        if "anyOf" in node:
            derived["anyOf"] = self._branches(node, depth)
        elif "enum" not in derived:
            derived |= self._typed(node, depth)
        description = _described(node.get("description"), moved)
        return {"description": description, **derived} if description else derived

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise UnsupportedSchema

    def _assertions(self, node: JsonObject) -> tuple[JsonObject, list[str]]:
        """Return the assertions that may stay, and the others as words."""
        stay: JsonObject = {}
        moved: list[str] = []
        options = [node["const"]] if "const" in node else node.get("enum")
        if options is not None:
            stay |= self._enum(node, options)
        for name in _ASSERTIONS[1:]:
            if name not in node:
                continue
            if self._keeps(name, node[name]) and "enum" not in stay:
                stay[name] = node[name]
            else:
                moved.append(f"{name} {json.dumps(node[name], ensure_ascii=False)}")
        return stay, moved

    def _keeps(self, name: str, value: JsonValue) -> bool:
        """Whether an assertion is part of the dialect, with this value."""
        if name == "format":
            return value in self._dialect.formats
        if name == "pattern" and isinstance(value, str) and _BEYOND_REGULAR.search(value):
            return False
        return name in self._dialect.keywords

    def _enum(self, node: JsonObject, options: JsonValue) -> JsonObject:
        if not isinstance(options, list) or not options:
            raise UnsupportedSchema
        if any(isinstance(option, (dict, list)) for option in options):
            raise UnsupportedSchema
        self._count(len(options))
        kinds = sorted({_kind(option) for option in options})
        declared = types_of(node)
        if declared and any(not _allows(declared, kind) for kind in kinds):
            raise UnsupportedSchema
        return {"type": kinds[0] if len(kinds) == 1 else [*kinds], "enum": options}

    def _branches(self, node: JsonObject, depth: int) -> list[JsonValue]:
        """At most one branch may hold more than scalars: added nulls must be found again."""
        branches = node["anyOf"]
        if not isinstance(branches, list) or not branches or "type" in node or "enum" in node:
            raise UnsupportedSchema
        inner = [branch for branch in branches if isinstance(branch, dict)]
        if sum(is_nested(branch) for branch in inner) > 1:
            raise UnsupportedSchema
        return [self.derive(branch, depth) for branch in inner]

    def _typed(self, node: JsonObject, depth: int) -> JsonObject:
        types = types_of(node)
        if not types:
            raise UnsupportedSchema
        derived: JsonObject = {"type": types[0] if len(types) == 1 else [*types]}
        if "object" in types:
            derived |= self._object(node, depth)
        if "array" in types:
            items = node.get("items")
            if not isinstance(items, dict):
                raise UnsupportedSchema
            derived["items"] = self.derive(items, depth + 1)
        return derived

    def _object(self, node: JsonObject, depth: int) -> JsonObject:
        properties = node.get("properties", {})
        free_form = node.get("additionalProperties", not properties) is not False
        if free_form or not isinstance(properties, dict):
            raise UnsupportedSchema
        required = required_of(node)
        if set(required) - properties.keys():
            raise UnsupportedSchema
        derived: JsonObject = {}
        for name, schema in properties.items():
            if not isinstance(schema, dict):
                raise UnsupportedSchema
            derived[name] = self._property(schema, name in required, depth)
        return {
            "properties": derived,
            "required": list(derived) if self._dialect.all_required else [*required],
            "additionalProperties": False,
        }

    def _property(self, schema: JsonObject, required: bool, depth: int) -> JsonObject:
        derived = self.derive(schema, depth + 1)
        if required:
            return derived
        if not self._dialect.all_required:
            self.optional += 1
            return derived
        return derived if accepts_null(schema) else _nullable(derived)


def _nullable(schema: JsonObject) -> JsonObject:
    """Return a strict schema that also takes null."""
    if "anyOf" in schema:
        branches = schema["anyOf"]
        return {**schema, "anyOf": [*(branches if isinstance(branches, list) else []), _NULL]}
    types = [*types_of(schema), "null"]
    options = schema.get("enum")
    extra = {"enum": [*options, None]} if isinstance(options, list) else {}
    return {**schema, "type": [*types], **extra}


_NULL: JsonObject = {"type": "null"}


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return kinds[type(value)]


def _allows(declared: tuple[str, ...], kind: str) -> bool:
    return kind in declared or (kind == "integer" and "number" in declared)


def _described(description: JsonValue, moved: list[str]) -> str:
    text = description if isinstance(description, str) else ""
    rules = f"Rules: {'; '.join(moved)}." if moved else ""
    return " ".join(part for part in (text, rules) if part)
