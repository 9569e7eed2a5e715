"""Approving a plan, the first or a revised one: which work becomes invalid, and which stays."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.artifacts.dependencies import dependants
from artificer.artifacts.plan import Plan
from artificer.builds.jobs import AskDecision, MergeSpec, RebuildIntegration
from artificer.builds.state import Archived, BuildState, SpecState, artifact_digest
from artificer.builds.transition import Transition


def approve(transition: Transition, plan: Plan) -> None:
    """Start work by this plan, and keep the earlier work that no change affects."""
    before = transition.state.plan
    if before is not None:
        gone = invalidated(transition.state, before, plan)
        _archive(transition, gone, f"the plan was revised: {artifact_digest(plan)}")
    kept = {spec.name: spec for spec in transition.state.specs}
    generation = len(transition.state.archive)
    specs = tuple(
        kept.get(ref.name) or SpecState(name=ref.name, generation=generation) for ref in plan.specs
    )
    transition.update(plan=plan, specs=specs)


def invalidated(state: BuildState, before: Plan, after: Plan) -> set[str]:
    """Return the specs whose work is invalid under another plan.

    These are the changed and removed specs, and every spec that started, or would start, from a
    tree with their work. A changed or removed constant is in every prompt, so it affects all specs.
    """
    now = {ref.name: ref for ref in after.specs}
    kept = {(constant.name, constant.value) for constant in after.constants}
    if any((constant.name, constant.value) not in kept for constant in before.constants):
        return {spec.name for spec in state.specs}
    changed = [ref.name for ref in before.specs if now.get(ref.name) != ref]
    return dependants(changed, state.built_on)


def drop_collided(transition: Transition, name: str, report: str) -> None:
    """Restart a spec that does not merge on its own, with all specs built on it."""
    gone = dependants([name], transition.state.built_on)
    names = [spec.name for spec in transition.state.specs if spec.name in gone]
    order = [spec.name for spec in transition.state.specs]
    _archive(transition, gone, report)
    generation = len(transition.state.archive)
    kept = {spec.name: spec for spec in transition.state.specs}
    fresh = {name: SpecState(name=name, generation=generation) for name in names}
    transition.update(specs=tuple((kept | fresh)[name] for name in order), rebuilding=True)


def _archive(transition: Transition, names: Iterable[str], reason: str) -> None:
    """Archive specs: drop their open jobs and remove them from the integration branch."""
    gone = set(names)
    state = transition.state
    digest = artifact_digest(state.plan) if state.plan else None
    archived = tuple(
        Archived(plan=digest, spec=spec, reason=reason) for spec in state.specs if spec.name in gone
    )
    merging = [job for job in state.open if isinstance(job, MergeSpec)]
    integrated = gone & set(state.merged) or any(job.tip.spec in gone for job in merging)
    for job in state.open:
        if isinstance(job, AskDecision):
            continue
        if _subject(job) in gone or (
            integrated and isinstance(job, (MergeSpec, RebuildIntegration))
        ):
            transition.drop_job(job, reason)
    transition.update(
        specs=tuple(spec for spec in state.specs if spec.name not in gone),
        merged=tuple(name for name in state.merged if name not in gone),
        archive=(*state.archive, *archived),
        rebuilding=transition.state.rebuilding or bool(integrated),
    )


def _subject(job: object) -> str:
    """Return the spec of a job."""
    match job:
        case MergeSpec():
            return job.tip.spec
        case RebuildIntegration() | AskDecision():
            return ""
    step = getattr(job, "step", None)
    return step.spec if step is not None else getattr(job, "spec", "")
