"""Policy: ordered rules that answer allow, deny or ask, each with a reason."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

from artificer.contracts.definition import Risk, ToolDefinition
from artificer.values.base import Value

DecisionWord = Literal["allow", "deny", "ask"]


class Rule(Value):
    """Applies to tools whose name matches the glob ``tool`` and whose risk is one of ``risk``.

    No risk given means any risk.
    """

    decision: DecisionWord
    tool: str = "*"
    risk: tuple[Risk, ...] = ()
    reason: str = ""


class Policy(Value):
    """Rules in order: the first that applies decides. Where none does, ``default``.

    A tool outside the run's toolset never gets this far: it is unknown.
    """

    rules: tuple[Rule, ...] = ()
    default: DecisionWord = "allow"


class Decision(Value):
    """What the policy said, and which rule made it say so (``rule 2``, or ``default``)."""

    decision: DecisionWord
    rule: str
    reason: str


def decide(policy: Policy, tool: ToolDefinition) -> Decision:
    """Return the decision of the first rule that applies.

    What a tool's author demands is not for a rule to waive: an allowed call of a tool with
    ``human_approval`` is asked about all the same.
    """
    decision = Decision(decision=policy.default, rule="default", reason="")
    for number, rule in enumerate(policy.rules, 1):
        if fnmatchcase(tool.name, rule.tool) and (not rule.risk or tool.risk in rule.risk):
            decision = Decision(decision=rule.decision, rule=f"rule {number}", reason=rule.reason)
            break
    if decision.decision == "allow" and tool.human_approval:
        reason = "The tool demands a person's approval for every call."
        return Decision(decision="ask", rule="human_approval", reason=reason)
    return decision
