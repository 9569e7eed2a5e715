"""Writing out a schema's local references, so that what follows needs no definitions."""

from __future__ import annotations

from artificer.values.base import JsonObject, JsonValue

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "$comment", "deprecated", "$schema", "$id"}
)
"""Keywords that assert nothing."""

_PREFIX = "#/$defs/"


class NotInlined(Exception):
    """The schema cannot be written out: it is recursive, refers elsewhere, or is too large."""


def inline_references(schema: JsonObject, max_nodes: int) -> JsonObject:
    """Return the schema with each ``$ref`` replaced by the definition it names.

    Follows properties, items and ``anyOf``; other keywords are kept as they are. A reference may
    have annotations next to it, which override the definition's. Raises NotInlined; ``max_nodes``
    bounds the result, since definitions that refer to each other twice grow exponentially.
    """
    try:
        return _Inliner(schema.get("$defs"), max_nodes).inline(schema, ())
    except RecursionError as error:
        raise NotInlined from error


class _Inliner:
    """Walks one schema, counting what it writes."""

    def __init__(self, defs: JsonValue, max_nodes: int) -> None:
        self._defs = defs if isinstance(defs, dict) else {}
        self._left = max_nodes

    def inline(self, node: JsonValue, open_refs: tuple[str, ...]) -> JsonObject:
        """Return one subschema written out; ``open_refs`` are the definitions around it."""
        self._left -= 1
        if not isinstance(node, dict) or self._left < 0:
            raise NotInlined
        if "$ref" in node:
            return self._reference(node, open_refs)
        result = {name: value for name, value in node.items() if name != "$defs"}
        properties = node.get("properties")
        if isinstance(properties, dict):
            result["properties"] = {
                name: self.inline(schema, open_refs) for name, schema in properties.items()
            }
        if "items" in node:
            result["items"] = self.inline(node["items"], open_refs)
        branches = node.get("anyOf")
        if isinstance(branches, list):
            result["anyOf"] = [self.inline(branch, open_refs) for branch in branches]
        return result

    def _reference(self, node: JsonObject, open_refs: tuple[str, ...]) -> JsonObject:
        reference = node["$ref"]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        if not isinstance(reference, str) or beside.keys() - ANNOTATIONS - {"$defs"}:
            raise NotInlined
        name = reference.removeprefix(_PREFIX)
        if not reference.startswith(_PREFIX) or name in open_refs or name not in self._defs:
            raise NotInlined
        beside.pop("$defs", None)
        return {**self.inline(self._defs[name], (*open_refs, name)), **beside}
