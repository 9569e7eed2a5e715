"""Policy: ordered rules that answer allow, deny or ask, each with a reason.

The first rule that matches decides. Where it is in doubt whether a rule matches, because an
argument can be read in more than one way, the rules after it are heard too, and the strictest of
the answers stands: a doubt counts against the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from artificer.contracts.definition import EffectClass, Risk, ToolDefinition
from artificer.core.conditions import NO, Condition, Match, both
from artificer.core.taint import Taint, flow_reason
from artificer.values.base import JsonObject, Value

DecisionWord = Literal["allow", "deny", "ask"]

_STRICTNESS: dict[DecisionWord, int] = {"allow": 0, "ask": 1, "deny": 2}


class Rule(Value):
    """Matches calls that everything given here is true of.

    ``tool`` and ``origin`` are globs, ``risk``, ``effect`` and ``kind`` (of the run) lists of which
    one must hold; an empty list is true of all. ``workspace`` is a glob for the argument of that
    name. ``arguments`` are conditions that must all hold. ``name`` is what verdicts call the rule.
    """

    decision: DecisionWord
    tool: str = "*"
    risk: tuple[Risk, ...] = ()
    reason: str = ""
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_. -]{0,64}$")] = ""
    effect: tuple[EffectClass, ...] = ()
    kind: tuple[str, ...] = ()
    origin: str = "*"
    workspace: str = ""
    arguments: tuple[Condition, ...] = ()

    def match(self, call: Asked) -> Match:
        """Hold this rule against a call."""
        tool = call.tool
        applies = (
            fnmatchcase(tool.name, self.tool)
            and (not self.risk or tool.risk in self.risk)
            and (not self.effect or tool.effect in self.effect)
            and (not self.kind or call.occasion.kind in self.kind)
            and fnmatchcase(tool.origin or tool.backend, self.origin)
        )
        if not applies:
            return NO
        return both([c.match(call.arguments, tool.input_schema) for c in self._conditions()])

    def _conditions(self) -> tuple[Condition, ...]:
        if not self.workspace:
            return self.arguments
        return (Condition(at="/workspace", glob=self.workspace), *self.arguments)


class Policy(Value):
    """Rules in order: the first that matches decides. Where none does, ``default``.

    ``allow_lists`` are globs of tool names: a tool that one of the lists does not name is denied,
    whatever the rules say. A tool outside the run's toolset never gets this far: it is unknown.
    """

    rules: tuple[Rule, ...] = ()
    default: DecisionWord = "allow"
    allow_lists: tuple[tuple[str, ...], ...] = ()

    def narrowed(self, allow: tuple[str, ...]) -> Policy:
        """This policy for calls of tools that one of these globs names, and for no others."""
        return self.model_copy(update={"allow_lists": (*self.allow_lists, allow)})


class Decision(Value):
    """What the policy said, and which rule made it say so (``rule 2``, or ``default``)."""

    decision: DecisionWord
    rule: str
    reason: str


@dataclass(frozen=True)
class Occasion:
    """In what run a call is made, and what its conversation holds by then."""

    kind: str = ""
    taint: Taint | None = None


@dataclass(frozen=True)
class Asked:
    """A call that the policy is asked about."""

    tool: ToolDefinition
    arguments: JsonObject
    occasion: Occasion


def decide(
    policy: Policy,
    tool: ToolDefinition,
    arguments: JsonObject | None = None,
    occasion: Occasion | None = None,
) -> Decision:
    """Return what the policy says of a call.

    What a tool's author demands is not for a rule to waive: an allowed call of a tool with
    ``human_approval`` is asked about all the same, and so is one of a sensitive tool in a
    conversation that holds untrusted data.
    """
    asked = Asked(tool, arguments or {}, occasion or Occasion())
    decision = _strictest(list(_heard(policy, asked)))
    flow = flow_reason(asked.occasion.taint, tool)
    if decision.decision == "allow" and tool.human_approval:
        reason = "The tool demands a person's approval for every call."
        decision = Decision(decision="ask", rule="human_approval", reason=reason)
    if flow and decision.decision == "allow":
        return Decision(decision="ask", rule="information_flow", reason=flow)
    if flow and decision.decision == "ask":
        reason = f"{decision.reason} {flow}".strip()
        return decision.model_copy(update={"reason": reason})
    return decision


def _heard(policy: Policy, asked: Asked) -> Iterator[Decision]:
    """What the rules say up to the first that surely matches."""
    name = asked.tool.name
    if not all(any(fnmatchcase(name, glob) for glob in allow) for allow in policy.allow_lists):
        reason = "This run's allow-list does not name the tool."
        yield Decision(decision="deny", rule="allow_list", reason=reason)
        return
    for number, rule in enumerate(policy.rules, 1):
        match = rule.match(asked)
        if match.possible:
            called = rule.name or f"rule {number}"
            yield Decision(decision=rule.decision, rule=called, reason=rule.reason)
        if match.certain:
            return
    yield Decision(decision=policy.default, rule="default", reason="")


def _strictest(heard: list[Decision]) -> Decision:
    return max(heard, key=lambda d: _STRICTNESS[d.decision])  # the first of equals
