"""Why a call would be allowed, denied or asked about: the policy's way to its answer, in words."""

from __future__ import annotations

from typing import Literal

from artificer.core.conditions import Match
from artificer.core.policy import (
    Considered,
    Consult,
    Decision,
    Policy,
    PolicyQuery,
    consider,
    decide_on,
)
from artificer.values.base import Value

RuleOutcome = Literal["decides", "in doubt", "does not match"]


class RuleStep(Value):
    """One rule, whether it matches, and what of it does not, or not surely."""

    rule: str
    decision: str
    outcome: RuleOutcome
    because: tuple[str, ...] = ()


class PolicyExplanation(Value):
    """The policy's decision on a call, and the rules that were evaluated to reach it."""

    decision: Decision
    steps: tuple[RuleStep, ...]


def explain(
    policy: Policy, query: PolicyQuery, consult: Consult | None = None
) -> PolicyExplanation:
    """Decide about a call as the gate would, and explain it. Rules after the first sure match
    are not considered.
    """
    decision = decide_on(query, policy, consult)
    steps = tuple(_step(considered, query) for considered in consider(policy, query))
    return PolicyExplanation(decision=decision, steps=steps)


def _step(considered: Considered, query: PolicyQuery) -> RuleStep:
    matches = list(considered.rule.criteria(query))
    if not considered.match.possible:
        outcome: RuleOutcome = "does not match"
        because = [what for what, match in matches if not match.possible]
    else:
        outcome = "decides" if considered.match.certain else "in doubt"
        because = [what for what, match in matches if match == Match(True, False)]
    return RuleStep(
        rule=considered.rule.name or f"rule {considered.number}",
        decision=considered.rule.decision,
        outcome=outcome,
        because=tuple(because),
    )


def unreachable_rules(policy: Policy) -> tuple[int, ...]:
    """The numbers of rules that no call can reach, since one before them matches every call."""
    for number, rule in enumerate(policy.rules, 1):
        narrow = rule.to_json(defaults=False).keys() - {"decision", "reason", "name"}
        if not narrow:
            return tuple(range(number + 1, len(policy.rules) + 1))
    return ()
