"""Approving a plan, the first or a later one: what a change makes invalid, and what stays."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.artifacts.dependencies import dependants
from artificer.artifacts.plan import Plan
from artificer.builds.jobs import AskDecision, MergeSpec, RebuildIntegration
from artificer.builds.state import Archived, BuildState, SpecState, artifact_digest
from artificer.builds.transition import Move


def approve(move: Move, plan: Plan) -> None:
    """Go to work by this plan, and keep of the work under an earlier one what no change touches."""
    before = move.state.plan
    if before is not None:
        gone = invalidated(move.state, before, plan)
        _archive(move, gone, f"the plan was revised: {artifact_digest(plan)}")
    kept = {spec.name: spec for spec in move.state.specs}
    generation = len(move.state.archive)
    specs = tuple(
        kept.get(ref.name) or SpecState(name=ref.name, generation=generation) for ref in plan.specs
    )
    move.set(plan=plan, specs=specs)


def invalidated(state: BuildState, before: Plan, after: Plan) -> set[str]:
    """The specs whose work does not hold under another plan.

    Those that were changed or taken out, and whatever had their work in the tree that it began
    from, or was to have. A constant that changed or went is in every prompt, so then it is all.
    """
    now = {ref.name: ref for ref in after.specs}
    kept = {(constant.name, constant.value) for constant in after.constants}
    if any((constant.name, constant.value) not in kept for constant in before.constants):
        return {spec.name for spec in state.specs}
    changed = [ref.name for ref in before.specs if now.get(ref.name) != ref]
    return dependants(changed, state.built_on)


def drop_collided(move: Move, name: str, report: str) -> None:
    """Begin a spec anew, with all that was built on it: alone it does not merge."""
    gone = dependants([name], move.state.built_on)
    names = [spec.name for spec in move.state.specs if spec.name in gone]
    order = [spec.name for spec in move.state.specs]
    _archive(move, gone, report)
    generation = len(move.state.archive)
    kept = {spec.name: spec for spec in move.state.specs}
    fresh = {name: SpecState(name=name, generation=generation) for name in names}
    move.set(specs=tuple((kept | fresh)[name] for name in order), rebuilding=True)


def _archive(move: Move, names: Iterable[str], reason: str) -> None:
    """Take specs out, with everything under way for them, and out of the integration branch."""
    gone = set(names)
    state = move.state
    digest = artifact_digest(state.plan) if state.plan else None
    archived = tuple(
        Archived(plan=digest, spec=spec, reason=reason) for spec in state.specs if spec.name in gone
    )
    merging = [wish for wish in state.open if isinstance(wish, MergeSpec)]
    integrated = gone & set(state.merged) or any(wish.tip.spec in gone for wish in merging)
    for wish in state.open:
        if isinstance(wish, AskDecision):
            continue
        if _subject(wish) in gone or (
            integrated and isinstance(wish, MergeSpec | RebuildIntegration)
        ):
            move.drop(wish, reason)
    move.set(
        specs=tuple(spec for spec in state.specs if spec.name not in gone),
        merged=tuple(name for name in state.merged if name not in gone),
        archive=(*state.archive, *archived),
        rebuilding=move.state.rebuilding or bool(integrated),
    )


def _subject(wish: object) -> str:
    """The spec that a wish is about."""
    match wish:
        case MergeSpec():
            return wish.tip.spec
        case RebuildIntegration() | AskDecision():
            return ""
    step = getattr(wish, "step", None)
    return step.spec if step is not None else getattr(wish, "spec", "")
