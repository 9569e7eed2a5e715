"""Rules that can never match what they are meant for: a mistyped ``deny`` would silently allow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from artificer.contracts.definition import BACKENDS, ToolDefinition, Toolset
from artificer.core.conditions import Condition
from artificer.core.policy import Policy, Rule
from artificer.values.base import JsonObject
from artificer.values.pointer import steps_of

_WILD = r"[*?\[]"
_REGEX_IN_GLOB = r"^\^|\$$|\\|\.\+|\]\+|\]\*|\(\?|\([^()]*\|[^()]*\)|(?:^|/)\.\*|\{\d"
_GLOB_IN_REGEX = r"\*\*|(?:^|/)\*"
_INDEX = r"(0|[1-9][0-9]{0,8}|-)"
_DEPTH = 32
"""References and branches of a schema that are followed; beyond it anything may be there."""


class RuleFault(Struct, frozen=True):
    """Why a rule never matches. ``fatal`` if that is so in this run, whatever others offer."""

    number: int
    message: str
    fatal: bool


def rule_faults(
    policy: Policy, toolset: Toolset, installed: Collection[str] = ()
) -> Iterator[RuleFault]:
    """Everything for which a rule can never match a call of these tools.

    ``installed`` are the names of backends that other packages add.

    What another run's tools could mend is not fatal: a policy may be shared by runs that offer
    different tools.
    """
    others = {*installed, *(tool.backend for tool in toolset.tools)} - {*BACKENDS}
    known = (*BACKENDS, *sorted(others))
    for number, rule in enumerate(policy.rules, 1):
        for message, fatal in _faults(rule, toolset, known):
            yield RuleFault(number, message, fatal)


def _faults(rule: Rule, toolset: Toolset, known: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    for condition in rule.arguments:
        yield from ((message, True) for message in _language_faults(condition))
    backend = rule.origin.partition(":")[0]
    if not re.search(_WILD, backend) and backend not in known:
        yield f"origin {rule.origin!r}: tools come from {', '.join(known)}", True
        return
    named = [tool for tool in toolset.tools if fnmatchcase(tool.name, rule.tool)]
    if not named:
        near = next((name for name in toolset.names if _one_slip(rule.tool, name)), None)
        meant = f"; did you mean {near!r}?" if near else ""
        yield f"tool {rule.tool!r}: there is no such tool{meant}", near is not None
        return
    covered = [tool for tool in named if _is_covered(rule, tool)]
    if not covered:
        yield "its origin, risk and effect together fit none of the tools that it names", False
        return
    for pointer in _pointers(rule):
        yield from _pointer_faults(rule, pointer, covered)


def _is_covered(rule: Rule, tool: ToolDefinition) -> bool:
    return (
        fnmatchcase(tool.origin or tool.backend, rule.origin)
        and (not rule.risk or tool.risk in rule.risk)
        and (not rule.effect or tool.effect in rule.effect)
    )


def _pointers(rule: Rule) -> tuple[str, ...]:
    own = tuple(condition.at for condition in rule.arguments)
    return (*own, "/workspace") if rule.workspace else own


def _pointer_faults(
    rule: Rule, pointer: str, covered: list[ToolDefinition]
) -> Iterator[tuple[str, bool]]:
    steps = steps_of(pointer)
    if any(_may_have(tool.input_schema, tool.input_schema, steps, 0) for tool in covered):
        return
    known = sorted({name for tool in covered for name in _members(tool.input_schema)})
    import difflib  # only to explain a fault

    near = next(iter(difflib.get_close_matches(steps[0], known, n=1)), None)
    meant = f"; did you mean '/{near}'?" if near and near != steps[0] else ""
    of = covered[0].name if len(covered) == 1 else f"the {len(covered)} tools that it covers"
    slipped = near is not None and _one_slip(steps[0], near)
    fatal = rule.decision != "allow" and (rule.tool != "*" or slipped)
    yield f"{pointer}: no argument of {of}{meant}", fatal


def _members(schema: JsonObject) -> tuple[str, ...]:
    properties = schema.get("properties")
    return tuple(properties) if isinstance(properties, dict) else ()


def _may_have(part: Any, root: JsonObject, steps: list[str], depth: int) -> bool:
    """Whether a schema lets anything stand where these steps lead."""
    if not isinstance(part, dict) or depth > _DEPTH:
        return part is not False
    if not steps:
        return True
    if "$ref" in part:
        return _may_have(_referred(part["$ref"], root), root, steps, depth + 1)
    branches = [b for key in ("anyOf", "oneOf", "allOf") for b in part.get(key) or ()]
    if any(_may_have(branch, root, steps, depth + 1) for branch in branches):
        return True
    return _may_have(_member(part, steps[0], is_open=not branches), root, steps[1:], depth + 1)


def _member(part: dict[str, Any], name: str, *, is_open: bool) -> Any:
    """The schema of a member; False if there is none, True if anything may be."""
    properties = part.get("properties") or {}
    if name in properties:
        return properties[name]
    if re.fullmatch(_INDEX, name) and ("items" in part or "prefixItems" in part):
        return part.get("items", True)
    if part.get("patternProperties") or part.get("additionalProperties") not in (None, False):
        return True
    is_open = is_open and not properties and "additionalProperties" not in part
    return is_open and part.get("type", "object") == "object"


def _referred(reference: object, root: JsonObject) -> Any:
    definitions = root.get("$defs")
    if not str(reference).startswith("#/$defs/") or not isinstance(definitions, dict):
        return True
    return definitions.get(str(reference).removeprefix("#/$defs/"), True)


def _language_faults(condition: Condition) -> Iterator[str]:
    if condition.glob is not None and re.search(_REGEX_IN_GLOB, condition.glob):
        yield (
            f"{condition.at}: the glob {condition.glob!r} is written as a regular expression; "
            "write pattern = … for one, or '**' for any text"
        )
    if condition.pattern is not None and re.search(_GLOB_IN_REGEX, condition.pattern):
        yield (
            f"{condition.at}: the pattern {condition.pattern!r} is written as a glob; "
            "write glob = … for one, or '.*' for any text"
        )


def _one_slip(one: str, other: str) -> bool:
    """Whether two names differ by one character, by two that changed places, or by case."""
    if one == other or re.search(_WILD, one):
        return False
    if one.casefold() == other.casefold():
        return True
    if len(one) < len(other):
        one, other = other, one
    if len(one) - len(other) > 1 or len(other) < 2:
        return False
    pairs = enumerate(zip(one, other, strict=False))
    start = next((n for n, (a, b) in pairs if a != b), len(other))
    if len(one) > len(other):
        return one[start + 1 :] == other[start:]
    if one[start + 1 :] == other[start + 1 :]:
        return True
    swapped = one[start : start + 2] == other[start : start + 2][::-1]
    return swapped and one[start + 2 :] == other[start + 2 :]
