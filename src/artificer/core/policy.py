"""Policy: ordered rules that answer allow, deny or ask, each with a reason.

The first rule that matches decides. Where it is in doubt whether a rule matches, because an
argument can be read in more than one way, the rules after it are evaluated too, and the
strictest decision wins: a doubt counts against the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from sys import intern
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Struct

from artificer.contracts.definition import EffectClass, Risk, ToolDefinition
from artificer.contracts.secret_marks import MARK_BEGINS, marks_in
from artificer.core.conditions import NO, YES, Condition, Match, both
from artificer.core.rules import RULES
from artificer.core.taint import Taint, flow_reason
from artificer.values.base import CheckedValue, JsonObject, Meta, Value
from artificer.values.blocks import Message
from artificer.values.by_identity import ByIdentity
from artificer.values.canon import canonical, digest_of

DecisionWord = Literal["allow", "deny", "ask"]

_STRICTNESS: dict[DecisionWord, int] = {"allow": 0, "ask": 1, "deny": 2}


class Rule(CheckedValue):
    """Matches calls that everything given here is true of.

    ``tool`` and ``origin`` are globs, ``risk``, ``effect`` and ``kind`` (of the run) lists of which
    one must hold; an empty list is true of all. ``workspace`` is a glob for the argument of that
    name. ``arguments`` are conditions that must all hold. ``name`` is what verdicts call the rule.
    """

    decision: DecisionWord
    tool: str = "*"
    risk: tuple[Risk, ...] = ()
    reason: str = ""
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_. -]{0,64}\Z")] = ""
    effect: tuple[EffectClass, ...] = ()
    kind: tuple[str, ...] = ()
    origin: str = "*"
    workspace: str = ""
    arguments: tuple[Condition, ...] = ()

    def match(self, call: PolicyQuery) -> Match:
        """Evaluate this rule for a call."""
        return self.match_arguments(call) if self.concerns(call) else NO

    def concerns(self, call: PolicyQuery) -> bool:
        """Whether this rule is for such tools and such runs, whatever the arguments are."""
        return all(holds(self, call) for _, holds in _PLAIN)

    @property
    def reads_arguments(self) -> bool:
        """Whether it demands something of a call's arguments."""
        return bool(self.workspace or self.arguments)

    def match_arguments(self, call: PolicyQuery) -> Match:
        """Evaluate this rule's conditions on the arguments of a call that it covers."""
        if not self.reads_arguments:
            return YES
        matches: list[Match] = []
        for _, match in self._conditions(call):
            if not match.possible:
                return NO
            matches.append(match)
        return both(matches)

    def criteria(self, call: PolicyQuery) -> Iterator[tuple[str, Match]]:
        """Everything that this rule demands of a call, named, and how far it is so."""
        for name, holds in _PLAIN:
            yield name, YES if holds(self, call) else NO
        yield from self._conditions(call)

    def _conditions(self, call: PolicyQuery) -> Iterator[tuple[str, Match]]:
        tool, wide = call.tool, call.occasion.rules >= 2
        if self.workspace:
            named = Condition(at="/workspace", glob=self.workspace)
            yield "workspace", named.match(call.arguments, tool.input_schema, wide=wide)
        for condition in self.arguments:
            yield (
                f"argument {condition.at}",
                condition.match(call.arguments, tool.input_schema, wide=wide),
            )


def _fits(text: str, glob: str) -> bool:
    return glob == "*" or fnmatchcase(text, glob)


_PLAIN: tuple[tuple[str, Callable[[Rule, PolicyQuery], bool]], ...] = (
    ("tool", lambda rule, call: _fits(call.tool.name, rule.tool)),
    ("risk", lambda rule, call: not rule.risk or call.tool.risk in rule.risk),
    ("effect", lambda rule, call: not rule.effect or call.tool.effect in rule.effect),
    ("kind", lambda rule, call: not rule.kind or call.occasion.kind in rule.kind),
    ("origin", lambda rule, call: _fits(call.tool.origin or call.tool.backend, rule.origin)),
)
"""A rule's conditions on a call's tool and run, which are certain."""


class PolicyText(CheckedValue):
    """A file of Cedar policies, as it stood when the run began."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """Digest of the text."""
        return digest_of(self.text.encode())


class Policy(CheckedValue):
    """Rules in order: the first that matches decides. Where none does, ``default``.

    ``allow_lists`` are globs of tool names: a tool that one of the lists does not name is denied,
    whatever the rules say. ``cedar`` is asked as well, and the stricter of the two answers stands.
    A tool outside the run's toolset never gets this far: it is unknown.
    """

    rules: tuple[Rule, ...] = ()
    default: DecisionWord = "allow"
    allow_lists: tuple[tuple[str, ...], ...] = ()
    cedar: tuple[PolicyText, ...] = ()

    def narrowed(self, allow: tuple[str, ...]) -> Policy:
        """This policy for calls of tools that one of these globs names, and for no others."""
        return self.replace(allow_lists=(*self.allow_lists, allow))


class Decision(Value):
    """The policy's answer, and the rule that gave it (``rule 2``, or ``default``)."""

    decision: DecisionWord
    rule: str
    reason: str


class Occasion(Struct, frozen=True):
    """In what run a call is made, by which rules, and what its conversation holds by then.

    ``history`` is that conversation, up to the reply that makes the call. ``labels`` are those of
    the results that artifacts can be bound to, and ``sources`` the data of the ones that this turn
    cites.
    """

    kind: str = ""
    model: str = ""
    taint: Taint | None = None
    history: Sequence[Message] = ()
    rules: int = RULES
    labels: tuple[str, ...] = ()
    sources: Mapping[str, bytes] = MappingProxyType({})


class PolicyQuery(Struct, frozen=True):
    """A call that the policy is asked about; ``text`` are its arguments as canonical JSON text,
    where that is known.
    """

    tool: ToolDefinition
    arguments: JsonObject
    occasion: Occasion
    text: str = ""


Consult = Callable[[tuple[PolicyText, ...], PolicyQuery], Decision]
"""Asks the Cedar policies: this happens outside the pure half, with an engine."""


class Considered(Struct, frozen=True):
    """A rule that was held against a call, and how far it matches."""

    number: int
    rule: Rule
    match: Match


def decide(
    policy: Policy,
    tool: ToolDefinition,
    arguments: JsonObject | None = None,
    occasion: Occasion | None = None,
    consult: Consult | None = None,
) -> Decision:
    """Return the policy's decision on a call, as :func:`decide_on` does."""
    query = PolicyQuery(tool, arguments or {}, occasion or Occasion())
    return decide_on(query, policy, consult)


def decide_on(query: PolicyQuery, policy: Policy, consult: Consult | None = None) -> Decision:
    """Return the policy's decision on a call.

    What a tool's author demands is not for a rule to waive: an allowed call of a tool with
    ``human_approval`` is asked about all the same, and so is one of a sensitive tool in a
    conversation that holds untrusted data. Where there are Cedar policies and nobody to ask them,
    nothing is allowed. A call with the mark of a secret is denied: what was written was changed.
    """
    tool = query.tool
    marked = _marked(query)
    decision = marked or by_rules(policy, query)
    if policy.cedar and not marked:
        decision = _both(decision, _by_cedar(policy, query, consult))
    if decision.decision == "allow" and tool.human_approval:
        reason = "The tool demands a person's approval for every call."
        decision = Decision(decision="ask", rule="human_approval", reason=reason)
    flow = flow_reason(query.occasion.taint, tool)
    if flow and decision.decision == "allow":
        return Decision(decision="ask", rule="information_flow", reason=flow)
    if flow and decision.decision == "ask":
        reason = f"{decision.reason} {flow}".strip()
        return decision.replace(reason=reason)
    return decision


def _marked(query: PolicyQuery) -> Decision | None:
    """The denial of a call that holds the mark of a secret that was taken out of it.

    Artifacts may cite one: they change nothing but themselves.
    """
    if query.occasion.rules < 2 or query.tool.backend == "artifact":
        return None
    text = query.text or canonical(query.arguments).decode()
    found = marks_in(text) if MARK_BEGINS in text else ()
    if not found:
        return None
    reason = (
        f"Not run: the arguments hold {', '.join(found)}, which stands in the place of a secret. A "
        "tool gets its secrets from its manifest, never from you. Call again without it."
    )
    return Decision(decision="deny", rule="secret", reason=reason)


def by_rules(policy: Policy, query: PolicyQuery) -> Decision:
    """Return the decision of the allow-lists, the rules and the default."""
    plan = _plan(policy, query.tool, intern(query.occasion.kind))
    if plan.decision is not None:
        return plan.decision
    return _strictest(policy, (Considered(n, r, r.match_arguments(query)) for n, r in plan.rules))


def consider(policy: Policy, query: PolicyQuery) -> Iterator[Considered]:
    """Evaluate the rules for a call in order, up to the first certain match."""
    for number, rule in enumerate(policy.rules, 1):
        considered = Considered(number, rule, rule.match(query))
        yield considered
        if considered.match.certain:
            return


class _Plan(Struct, frozen=True):
    """The part of a policy for the calls of one tool in one kind of run: the rules that concern
    them, or the decision, where it does not depend on the arguments.
    """

    rules: tuple[tuple[int, Rule], ...] = ()
    decision: Decision | None = None


def _planned(policy: Policy, tool: ToolDefinition, kind: str) -> _Plan:
    if not all(any(fnmatchcase(tool.name, g) for g in allow) for allow in policy.allow_lists):
        reason = "This run's allow-list does not name the tool."
        return _Plan(decision=Decision(decision="deny", rule="allow_list", reason=reason))
    query = PolicyQuery(tool, {}, Occasion(kind=kind))
    rules = tuple((n, rule) for n, rule in enumerate(policy.rules, 1) if rule.concerns(query))
    if rules and rules[0][1].reads_arguments:
        return _Plan(rules)
    return _Plan(decision=_strictest(policy, [Considered(n, rule, YES) for n, rule in rules[:1]]))


_plan = ByIdentity(_planned)
"""Made once for a run's policy and each of its tools."""


def _strictest(policy: Policy, considered: Iterable[Considered]) -> Decision:
    """The strictest of what the rules answer that may match, up to the first that surely does."""
    answers: list[Decision] = []
    for one in considered:
        rule = one.rule
        if one.match.possible:
            name = rule.name or f"rule {one.number}"
            answers.append(Decision(decision=rule.decision, rule=name, reason=rule.reason))
        if one.match.certain:
            break
    else:
        answers.append(Decision(decision=policy.default, rule="default", reason=""))
    return max(answers, key=_strictness)  # the first of equals


def _by_cedar(policy: Policy, query: PolicyQuery, consult: Consult | None) -> Decision:
    if consult is None:
        reason = "The Cedar policies could not be asked here."
        return Decision(decision="deny", rule="cedar", reason=reason)
    return consult(policy.cedar, query)


def _both(one: Decision, other: Decision) -> Decision:
    """The stricter of two decisions; of two alike, both with their rules and reasons."""
    if one.decision != other.decision:
        return max(one, other, key=_strictness)
    reason = " ".join(filter(None, (one.reason, other.reason)))
    return Decision(decision=one.decision, rule=f"{one.rule}, {other.rule}", reason=reason)


def _strictness(decision: Decision) -> int:
    return _STRICTNESS[decision.decision]
