"""What each fact does to a build. A handler says whether the fact meant anything to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from artificer.artifacts.completion import Completion
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan
from artificer.artifacts.spec import Spec
from artificer.builds import facts as f
from artificer.builds.attempts import Attempts
from artificer.builds.jobs import (
    AskConsent,
    AskDecision,
    Check,
    MergeSpec,
    PrepareBase,
    RebuildIntegration,
    StartRun,
    StepId,
)
from artificer.builds.revision import approve, drop_collided
from artificer.builds.state import PhaseState, SpecState, artifact_digest, consents_of
from artificer.builds.table import LoopKind, passes_of
from artificer.builds.transition import Move
from artificer.values.base import JsonValue
from artificer.values.canon import canonical, digest_of

_OWED: dict[LoopKind, type[Plan] | type[Spec] | type[Phase] | type[Completion]] = {
    "plan": Plan,
    "spec": Spec,
    "phase": Phase,
    "code": Completion,
}
UNSAID = (
    "Nothing was changed. If nothing had to be, say so: complete_task with nothing_to_do, and why."
)


def _requested(move: Move, fact: f.BuildRequested) -> bool:
    if move.state.build:
        return False
    move.set(
        build=fact.build,
        request=fact.request,
        base=fact.base,
        integration=fact.base,
        options=fact.options,
    )
    if fact.brief is None:
        move.set(planning=Attempts().begun())
        return True
    phase = PhaseState(
        name=fact.brief.name,
        phase=fact.brief,
        digest=artifact_digest(fact.brief),
        coding=Attempts().begun(),
    )
    move.set(specs=(SpecState(name="brief", phases=(phase,)),))
    return True


def _returned(move: Move, fact: f.RunReturned) -> bool:
    run = move.answered(StartRun, fact.key)
    if run is None:
        return False
    step, artifact = run.step, fact.artifact
    if fact.outcome != "made":
        move.failed(step, fact.detail or f"The run was {fact.outcome}.")
    elif not isinstance(artifact, _OWED[step.kind]) or artifact is None:
        move.failed(step, f"The run ended without the {step.kind} that it owed.")
    elif isinstance(artifact, Completion):
        move.check(run, nothing=artifact.nothing_to_do)
    elif not isinstance(artifact, Plan) and artifact.name != (step.phase or step.spec):
        move.failed(step, f"The run made {artifact.name!r}; {step.phase or step.spec!r} was owed.")
    else:
        _made(move, run, artifact)
    return True


def _rested(move: Move, fact: f.RunRested) -> bool:
    if all(wish.key != fact.key for wish in move.state.open):
        return False
    others = tuple(rested for rested in move.state.resting if rested.key != fact.key)
    move.set(resting=(*others, fact))
    return True


def _made(move: Move, run: StartRun, artifact: Plan | Spec | Phase) -> None:
    """The artifact counts after its last pass, and after the judge where there is one."""
    step, options = run.step, move.state.options
    _keep(move, step, artifact)
    attempts = move.state.attempts(step)
    passes = passes_of(step.kind, options.size, options.passes)
    if attempts is not None and attempts.review + 1 < len(passes):
        following = attempts.replace(doing="idle", review=attempts.review + 1)
        move.state = move.state.with_attempts(step, lambda _: following)
    elif step.kind in options.judge:
        move.check(run)
    else:
        _accept(move, step)


def _keep(move: Move, step: StepId, artifact: Plan | Spec | Phase) -> None:
    spec = move.state.spec(step.spec)
    if isinstance(artifact, Plan):
        move.set(draft=artifact)
    elif spec is not None and isinstance(artifact, Spec):
        move.set_spec(spec, draft=artifact)
    elif spec is not None and isinstance(artifact, Phase):
        changes = {"phase": artifact, "digest": artifact_digest(artifact)}
        move.state = move.state.with_spec(spec.with_phase(_phase(spec, step).replace(**changes)))


def _accept(move: Move, step: StepId) -> None:
    """What was drafted is now what the step came to."""
    move.passed(step)
    spec, draft = move.state.spec(step.spec), move.state.draft
    if step.kind == "plan" and draft is not None:
        digest = artifact_digest(draft)
        move.set(proposal=draft)
        key = move.key("decide", move.state.wished, digest)
        move.wish(AskDecision(key=key, digest=digest))
    elif step.kind == "spec" and spec is not None and spec.draft is not None:
        move.set_spec(
            spec,
            status="building",
            accepted=spec.draft,
            digest=artifact_digest(spec.draft),
            phases=tuple(
                PhaseState(name=phase.name, detailing=Attempts().begun())
                for phase in spec.draft.phases
            ),
        )
    elif spec is not None:
        begun = _phase(spec, step)
        begun = begun.replace(coding=begun.coding.begun())
        move.state = move.state.with_spec(spec.with_phase(begun))


def _checked(move: Move, fact: f.Checked) -> bool:
    check = move.answered(Check, fact.key)
    if check is None:
        return False
    step = check.step
    if fact.concerns:
        _concerned(move, check, fact)
    elif not fact.passed:
        move.failed(step, fact.report or "The validation failed without a word.")
    elif step.kind != "code":
        _accept(move, step)
    elif fact.unchanged and not check.nothing:
        move.failed(step, UNSAID)
    elif fact.unchanged and not check.judged:
        move.review_nothing(check)
    else:
        _coded(move, check, fact)
    return True


def _concerned(move: Move, check: Check, fact: f.Checked) -> None:
    """Only a person can let this count, unless they agreed to all of it in advance."""
    agreed = move.state.options.agreed
    if all(concern.kind in agreed for concern in fact.concerns):
        kinds = dict.fromkeys(concern.kind.replace("_", " ") for concern in fact.concerns)
        _coded(move, check, fact, consent=f"agreed in advance: {', '.join(kinds)}")
        return
    concerns: list[JsonValue] = [c.to_json() for c in fact.concerns]
    what: list[JsonValue] = [check.step.path, check.commit, fact.commit, concerns]
    digest = digest_of(canonical(what))
    key = move.key("consent", check.key)
    move.wish(AskConsent(key=key, digest=digest, check=check, checked=fact))


def _consented(move: Move, fact: f.ConsentGiven) -> bool:
    if all(wish.key != fact.key for wish in consents_of(move.state, fact.digest)):
        return False
    wish = move.answered(AskConsent, fact.key)
    if wish is None:
        return False
    if fact.granted:
        kinds = dict.fromkeys(c.kind.replace("_", " ") for c in wish.checked.concerns)
        consent = f"{fact.by or 'a person'} agreed: {', '.join(kinds)}"
        _coded(move, wish.check, wish.checked, consent=consent)
        return True
    said = "\n".join(f"- {concern.text}" for concern in wish.checked.concerns)
    report = f"{fact.by or 'A person'} did not agree to this change: {fact.reason}\n{said}"
    move.failed(wish.step, f"{report}\n{wish.checked.report}".strip())
    return True


def _coded(move: Move, check: Check, fact: f.Checked, consent: str = "") -> None:
    """The code of a phase is done: committed and validated, or rightly not needed."""
    spec = move.state.spec(check.step.spec)
    if spec is None:
        return
    move.passed(check.step)
    spec = move.state.spec(spec.name) or spec
    done = _phase(spec, check.step).replace(
        commit=fact.commit or check.commit,
        unchanged=fact.unchanged,
        outside=fact.outside,
        refused=fact.refused,
        notes=fact.notes,
        sandbox=fact.sandbox,
        consent=consent,
    )
    move.state = move.state.with_spec(spec.with_phase(done))


def _decided(move: Move, fact: f.Decided) -> bool:
    plan = move.state.proposal
    if plan is None or artifact_digest(plan) != fact.digest:
        return False
    if move.answered(AskDecision, fact.key) is None:
        return False
    move.set(proposal=None)
    if fact.decision == "approve":
        approve(move, plan)
    elif fact.decision == "iterate":
        _plan_again(move, f"{fact.by} says: {fact.reason}")
    elif move.state.plan is None:
        move.set(ended="rejected", reason=fact.reason)
    return True


def _plan_again(move: Move, feedback: str) -> None:
    """Another plan is owed, made from the last one and what was said of it."""
    passes = passes_of("plan", move.state.options.size, move.state.options.passes)
    again = move.state.planning.revived("").told(feedback)
    move.set(planning=again.replace(review=len(passes) - 1))


def _prepared(move: Move, fact: f.BasePrepared) -> bool:
    wish = move.answered(PrepareBase, fact.key)
    spec = move.state.spec(wish.spec) if wish else None
    if spec is None:
        return False
    if spec.phases:
        move.set_spec(spec, base=fact.commit, status="building")
    else:
        move.set_spec(
            spec, base=fact.commit, status="specifying", specifying=spec.specifying.begun()
        )
    return True


def _base_refused(move: Move, fact: f.BaseRefused) -> bool:
    wish = move.answered(PrepareBase, fact.key)
    spec = move.state.spec(wish.spec) if wish else None
    if wish is None or spec is None:
        return False
    if len(wish.tips) < len(move.state.merged):  # all of them did merge once
        move.prepare(spec, everything=True)
    else:
        move.set_spec(spec, status="failed", reason=f"its base cannot be merged: {fact.report}")
    return True


def _merged(move: Move, fact: f.SpecMerged) -> bool:
    wish = move.answered(MergeSpec, fact.key)
    spec = move.state.spec(wish.tip.spec) if wish else None
    if spec is None:
        return False
    move.set_spec(spec, status="done", reason="")
    move.set(merged=(*move.state.merged, spec.name), integration=fact.integration)
    return True


def _merge_refused(move: Move, fact: f.MergeRefused) -> bool:
    wish = move.answered(MergeSpec, fact.key)
    spec = move.state.spec(wish.tip.spec) if wish else None
    if spec is None:
        return False
    spec = move.set_spec(spec, collisions=spec.collisions + 1)
    if spec.collisions >= move.state.options.merges:
        move.set_spec(spec, status="failed", reason=f"its merge was refused: {fact.report}")
    else:
        move.redo(spec, fact.report)
    return True


def _rebuilt(move: Move, fact: f.IntegrationRebuilt) -> bool:
    if move.answered(RebuildIntegration, fact.key) is None:
        return False
    move.set(integration=fact.integration, rebuilding=False)
    return True


def _rebuild_refused(move: Move, fact: f.RebuildRefused) -> bool:
    if move.answered(RebuildIntegration, fact.key) is None:
        return False
    drop_collided(move, fact.spec, fact.report)
    return True


def _revision_requested(move: Move, fact: f.RevisionRequested) -> bool:
    state = move.state
    if state.plan is None or state.proposal is not None or state.planning.doing != "off":
        return False
    move.set(draft=state.plan)
    _plan_again(move, f"{fact.by} says: {fact.feedback}")
    return True


def _retry_requested(move: Move, fact: f.RetryRequested) -> bool:
    move.set(runs=0)
    if not fact.spec:
        if move.state.planning.doing == "exhausted":
            move.set(planning=move.state.planning.revived(fact.hint))
        return True
    spec = move.state.spec(fact.spec)
    if spec is None or spec.status != "failed":
        return False
    steps = [StepId(kind="spec", spec=spec.name)]
    for phase in spec.phases:
        steps.append(StepId(kind="phase", spec=spec.name, phase=phase.name))
        steps.append(StepId(kind="code", spec=spec.name, phase=phase.name))
    tired = [s for s in steps if (a := move.state.attempts(s)) and a.doing == "exhausted"]
    move.set_spec(spec, status="waiting", reason="")
    if not tired:  # it failed at its base or its merge
        spec = move.uncode(move.set_spec(spec, collisions=0, status="waiting"), fact.hint)
        move.set_spec(spec, base="", collided=True, reason="")
    for step in tired:
        move.state = move.state.with_attempts(step, lambda a: a.revived(fact.hint))
    return True


def _cancel_requested(move: Move, fact: f.CancelRequested) -> bool:
    move.set(ended="cancelled", reason=fact.reason)
    return True


HANDLERS: dict[type[Any], Callable[[Move, Any], bool]] = {
    f.BuildRequested: _requested,
    f.RunReturned: _returned,
    f.RunRested: _rested,
    f.Checked: _checked,
    f.Decided: _decided,
    f.ConsentGiven: _consented,
    f.BasePrepared: _prepared,
    f.BaseRefused: _base_refused,
    f.SpecMerged: _merged,
    f.MergeRefused: _merge_refused,
    f.IntegrationRebuilt: _rebuilt,
    f.RebuildRefused: _rebuild_refused,
    f.RevisionRequested: _revision_requested,
    f.RetryRequested: _retry_requested,
    f.CancelRequested: _cancel_requested,
}


def _phase(spec: SpecState, step: StepId) -> PhaseState:
    return next(phase for phase in spec.phases if phase.name == step.phase)
