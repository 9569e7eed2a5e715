"""Finding names in a Cedar policy that no call can have.

A condition on such a name never holds, so a ``forbid`` with it forbids nothing.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import cedarpy

from artificer.contracts.definition import Toolset
from artificer.core.policy import PolicyText
from artificer.policies.statements import statements

CONTEXT = (
    *("arguments", "tool", "kind", "risk", "effect", "backend", "origin"),
    *("sensitive", "tainted"),
)
"""The members of a call's context."""

ANNOTATIONS = ("ask", "id", "advice", "description", "note", "reason")
"""Annotations with a meaning here, and comments with none."""


def name_faults(policy: dict[str, Any]) -> Iterator[str]:
    """Yield context members and annotations that do not exist."""
    for name in policy.get("annotations", {}):
        if name not in ANNOTATIONS:
            near = next(iter(difflib.get_close_matches(name.lower(), ANNOTATIONS, n=1)), None)
            yield f"@{name} means nothing" + (f"; did you mean @{near}?" if near else "")
    for name in dict.fromkeys(_context_members(policy.get("conditions", []))):
        if name not in CONTEXT:
            yield f"the context has no member {name!r}{_meant(name, CONTEXT)}"


def entity_faults(texts: Iterable[PolicyText], toolset: Toolset) -> Iterator[str]:
    """Yield entities that no call of these tools has, with the file and line of their policy."""
    actions = {tool.cedar.action or "call" for tool in toolset.tools}
    resources = {tool.cedar.resource or "Tool" for tool in toolset.tools}
    known = {(tool.cedar.resource or "Tool", tool.name) for tool in toolset.tools}
    for text in texts:
        for line, statement in statements(text.text):
            static = json.loads(cedarpy.policies_to_json_str(statement))["staticPolicies"]
            for kind, name in dict.fromkeys(_entities(list(static.values()))):
                if kind == "Model":
                    continue
                if kind == "Action":
                    ids, what = actions, f'Action::"{name}"'
                elif kind in resources:
                    ids, what = {n for k, n in known if k == kind}, f'{kind}::"{name}"'
                else:
                    yield f"{text.name}:{line}: no call has an entity of the type {kind}"
                    continue
                if name is not None and name not in ids:
                    yield f"{text.name}:{line}: no call has {what}{_meant(name, tuple(ids))}"


def _meant(name: str, known: tuple[str, ...]) -> str:
    near = next(iter(difflib.get_close_matches(name, known, n=1)), None)
    return f"; did you mean {near!r}?" if near else ""


def _context_members(node: Any) -> Iterator[str]:
    """Yield the members that a policy reads from ``context``."""
    if isinstance(node, list):
        for item in node:
            yield from _context_members(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in (".", "has") and value.get("left") == {"Var": "context"}:
                yield value["attr"]
            else:
                yield from _context_members(value)


def _entities(node: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the entities of a policy, and the types of entities without a name."""
    if isinstance(node, list):
        for item in node:
            yield from _entities(item)
    elif isinstance(node, dict):
        if node.keys() == {"type", "id"} and isinstance(node["id"], str):
            yield node["type"], node["id"]
            return
        if isinstance(node.get("entity_type"), str):
            yield node["entity_type"], None
        for value in node.values():
            yield from _entities(value)
