"""A plan that waits for a person, next to the version before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from artificer.artifacts.plan import Plan
from artificer.builds.facts import Decided, RevisionRequested, RunReturned
from artificer.builds.jobs import AskDecision
from artificer.builds.state import artifact_digest
from artificer.core.events import BuildAdvanced
from artificer.core.intents import AdvanceBuild
from artificer.core.record import IntentLine, Line
from artificer.studio.differences import DiffLine, line_diff


@dataclass(frozen=True)
class PlanVersion:
    """A plan as it is put to a person. ``number`` counts those of its build, from 1.

    ``requested`` is what someone wanted to be different in it, ``by`` who that was. ``changes``
    are its differences from the version before; ``marks`` says of a spec that it is ``new`` or
    ``changed``, ``gone`` names those that are no longer in the plan.
    """

    plan: Plan
    digest: str
    number: int = 1
    requested: str = ""
    by: str = ""
    changes: tuple[DiffLine, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()


def plan_version(plan: Plan, lines: Iterable[Line]) -> PlanVersion:
    """Return a plan with what changed since a person last saw one, by the records of its build."""
    digest, plans, seen = artifact_digest(plan), dict[str, Plan](), list[str]()
    requested, by = "", ""
    for line in lines:
        if isinstance(line, IntentLine):
            if isinstance(line.intent, AdvanceBuild) and isinstance(line.intent.wish, AskDecision):
                seen.append(line.intent.wish.digest)
        elif isinstance(line.event, BuildAdvanced):
            match line.event.fact:
                case RunReturned(artifact=Plan() as made):
                    plans[artifact_digest(made)] = made
                case Decided(decision="iterate", reason=requested, by=by):
                    pass
                case RevisionRequested(feedback=requested, by=by):
                    pass
    before = [plans[one] for one in seen if one in plans and one != digest]
    if not before:
        return PlanVersion(plan, digest)
    old = before[-1]
    return PlanVersion(
        plan,
        digest,
        max(len(seen), 2),
        requested,
        by,
        line_diff(_text(old), _text(plan)),
        dict(_marks(old, plan)),
        tuple(spec.title for spec in old.specs if spec.name not in plan.graph),
    )


def _marks(old: Plan, new: Plan) -> Iterator[tuple[str, str]]:
    before = {spec.name: spec for spec in old.specs}
    for spec in new.specs:
        if spec.name not in before:
            yield spec.name, "new"
        elif before[spec.name] != spec:
            yield spec.name, "changed"


def _text(plan: Plan) -> str:
    """A plan as lines to be compared."""
    lines = [plan.title, plan.overview]
    for spec in plan.specs:
        lines += [f"{spec.name}: {spec.title}", spec.description]
        lines += [f"{spec.name} depends on {', '.join(spec.dependencies)}"] * bool(
            spec.dependencies
        )
    lines += [f"{one.name} = {one.value} {one.purpose}".rstrip() for one in plan.constants]
    lines += [f"Left out: {note}" for note in plan.non_goals]
    lines += [f"Risk: {note}" for note in plan.risks]
    return "\n".join(lines)
