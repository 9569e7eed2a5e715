"""Evaluating Cedar policies with ``cedarpy`` (extra ``cedar``).

A policy sees a call as:

===========  =====================================================================================
principal    ``Model::"PROVIDER/MODEL"``
action       ``Action::"call"``, or the manifest's ``[tool.cedar] action``
resource     ``Tool::"NAME"``, or the manifest's ``[tool.cedar] resource`` as the type
context      ``arguments``; ``tool``, ``kind``, ``risk``, ``effect``, ``backend``, ``origin``;
             ``sensitive``, ``tainted``
===========  =====================================================================================

A permit with the annotation ``@ask("why")`` permits the call after a person approves it. A call
that cannot be evaluated is denied: Cedar itself skips a policy with an error, and a skipped
``forbid`` forbids nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import cedarpy

from artificer.core.policy import Decision, PolicyQuery, PolicyText
from artificer.policies.cedar_lint import name_faults
from artificer.policies.statements import statements
from artificer.values.base import JsonValue
from artificer.values.canon import canonical
from artificer.values.text import clip

_SHOWN = 300
_ESCAPES = ("__entity", "__extn", "__expr")
"""Members with a special meaning in Cedar's JSON; arguments may not contain them."""

_DECIMAL_LIMIT = Decimal(2**63 - 1).scaleb(-4)


class PolicyFault(NamedTuple):
    """A fault of a text, with the line on which the faulty policy begins."""

    line: int
    message: str


class _Known(NamedTuple):
    """The policies of a spec, parsed, with the name and the ``@ask`` of each."""

    policies: cedarpy.PolicySet
    names: dict[str, str]
    asks: dict[str, str]


def faults(text: str) -> Iterator[PolicyFault]:
    """Yield every fault that makes a text unusable."""
    for line, statement in statements(text):
        try:
            parsed = json.loads(cedarpy.policies_to_json_str(statement))
        except ValueError as error:
            yield PolicyFault(line, clip(str(error), _SHOWN))
            continue
        if parsed["templates"]:
            yield PolicyFault(line, "is a template, which decides nothing")
        for policy in parsed["staticPolicies"].values():
            yield from (PolicyFault(line, fault) for fault in _misannotated(policy))


def _misannotated(policy: dict[str, Any]) -> Iterator[str]:
    annotations = policy.get("annotations", {})
    if "ask" in annotations and policy["effect"] != "permit":
        yield "@ask belongs to a permit: nobody can approve what is forbidden"
    yield from name_faults(policy)


def consult(texts: tuple[PolicyText, ...], query: PolicyQuery) -> Decision:
    """Return the policies' decision on a call. An undecidable call is denied, with the reason."""
    try:
        known = _known(texts)
        request = _request(query)
    except ValueError as error:
        return _deny(f"The Cedar policies could not be asked: {clip(str(error), _SHOWN)}.")
    result = cedarpy.is_authorized(request, known.policies, [])
    problems = result.diagnostics.errors
    if problems:
        return _deny(f"The Cedar policies could not be asked: {clip(problems[0], _SHOWN)}.")
    reasons = sorted(result.diagnostics.reasons, key=_place)  # the engine's order is random
    called = ", ".join(known.names[reason] for reason in reasons)
    if not result.allowed:
        why = f"Cedar forbids it: {called}." if reasons else "No Cedar policy permits it."
        return Decision(decision="deny", rule=f"cedar {called}".strip(), reason=why)
    asks = [known.asks[reason] for reason in reasons if reason in known.asks]
    word, why = ("ask", " ".join(filter(None, asks))) if asks else ("allow", "")
    return Decision.from_json({"decision": word, "rule": f"cedar {called}", "reason": why})


def _deny(reason: str) -> Decision:
    return Decision(decision="deny", rule="cedar", reason=reason)


@lru_cache(maxsize=16)
def _known(texts: tuple[PolicyText, ...]) -> _Known:
    """Parse the texts as one set. A policy's name is its ``@id``, else its file and line."""
    whole = "\n".join(text.text for text in texts)
    names: dict[str, str] = {}
    asks: dict[str, str] = {}
    places = [(text.name, line) for text in texts for line, _ in statements(text.text)]
    static = json.loads(cedarpy.policies_to_json_str(whole))["staticPolicies"]
    if len(static) != len(places):
        raise ValueError("a text does not end where its last policy does")
    for key, policy in static.items():
        name, line = places[_place(key)]
        annotations = policy.get("annotations", {})
        names[key] = annotations.get("id") or f"{name}:{line}"
        if "ask" in annotations:
            asks[key] = annotations["ask"] or ""
    return _Known(cedarpy.PolicySet.from_str(whole), names, asks)


def _place(key: str) -> int:
    """Return a policy's position from the engine's name for it, such as ``policy7``."""
    return int(key.removeprefix("policy"))


def _request(query: PolicyQuery) -> dict[str, Any]:
    tool, occasion = query.tool, query.occasion
    arguments = json.loads(canonical(query.arguments), parse_float=Decimal)
    return {
        "principal": {"type": "Model", "id": occasion.model},
        "action": {"type": "Action", "id": tool.cedar.action or "call"},
        "resource": {"type": tool.cedar.resource or "Tool", "id": tool.name},
        "context": {
            "arguments": _cedar(arguments),
            "tool": tool.name,
            "kind": occasion.kind,
            "risk": tool.risk,
            "effect": tool.effect,
            "backend": tool.backend,
            "origin": tool.origin,
            "sensitive": tool.sensitive,
            "tainted": occasion.taint is not None,
        },
    }


def _cedar(value: JsonValue | Decimal) -> Any:
    """Return a value for Cedar: null members are left out, fractions become decimals."""
    if isinstance(value, dict):
        if escape := next((name for name in _ESCAPES if name in value), None):
            raise ValueError(f"an argument has the member {escape}, which Cedar would obey")
        return {name: _cedar(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_cedar(item) for item in value if item is not None]
    if isinstance(value, Decimal):
        return _decimal(value)
    return value


def _decimal(value: Decimal) -> Any:
    exponent = value.normalize().as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -4 or abs(value) > _DECIMAL_LIMIT:
        raise ValueError("an argument is a number that Cedar's decimals cannot hold")
    return {"__extn": {"fn": "decimal", "arg": f"{value:.4f}"}}
