"""The effect of each fact on a build. A handler returns whether the fact had an effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from artificer.artifacts.completion import Completion
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan
from artificer.artifacts.spec import Spec
from artificer.builds import facts
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
from artificer.builds.table import StepKind, passes_of
from artificer.builds.transition import Transition
from artificer.values.base import JsonValue
from artificer.values.canon import canonical, digest_of

_REQUIRED: dict[StepKind, type[Plan] | type[Spec] | type[Phase] | type[Completion]] = {
    "plan": Plan,
    "spec": Spec,
    "phase": Phase,
    "code": Completion,
}
UNSAID = (
    "Nothing was changed. If nothing had to be, say so: complete_task with nothing_to_do, and why."
)


def _requested(transition: Transition, fact: facts.BuildRequested) -> bool:
    if transition.state.build:
        return False
    transition.update(
        build=fact.build,
        request=fact.request,
        base=fact.base,
        integration=fact.base,
        options=fact.options,
    )
    if fact.brief is None:
        transition.update(planning=Attempts().begun())
        return True
    phase = PhaseState(
        name=fact.brief.name,
        phase=fact.brief,
        digest=artifact_digest(fact.brief),
        coding=Attempts().begun(),
    )
    transition.update(specs=(SpecState(name="brief", phases=(phase,)),))
    return True


def _returned(transition: Transition, fact: facts.RunReturned) -> bool:
    run = transition.close_answered(StartRun, fact.key)
    if run is None:
        return False
    step, artifact = run.step, fact.artifact
    if fact.outcome != "made":
        transition.failed(step, fact.detail or f"The run was {fact.outcome}.")
    elif not isinstance(artifact, _REQUIRED[step.kind]) or artifact is None:
        transition.failed(step, f"The run ended without the {step.kind} that it owed.")
    elif isinstance(artifact, Completion):
        transition.check(run, nothing=artifact.nothing_to_do)
    elif not isinstance(artifact, Plan) and artifact.name != (step.phase or step.spec):
        transition.failed(
            step, f"The run made {artifact.name!r}; {step.phase or step.spec!r} was owed."
        )
    else:
        _made(transition, run, artifact)
    return True


def _standing_changed(transition: Transition, fact: facts.RunRested) -> bool:
    if all(job.key != fact.key for job in transition.state.open):
        return False
    others = tuple(entry for entry in transition.state.resting if entry.key != fact.key)
    transition.update(resting=(*others, fact))
    return True


def _made(transition: Transition, run: StartRun, artifact: Plan | Spec | Phase) -> None:
    """Keep the artifact; it counts after its last pass, and after the judge if there is one."""
    step, options = run.step, transition.state.options
    _keep(transition, step, artifact)
    attempts = transition.state.attempts(step)
    passes = passes_of(step.kind, options.size, options.passes)
    if attempts is not None and attempts.review + 1 < len(passes):
        following = attempts.replace(doing="idle", review=attempts.review + 1)
        transition.state = transition.state.with_attempts(step, lambda _: following)
    elif step.kind in options.judge:
        transition.check(run)
    else:
        _accept(transition, step)


def _keep(transition: Transition, step: StepId, artifact: Plan | Spec | Phase) -> None:
    spec = transition.state.spec(step.spec)
    if isinstance(artifact, Plan):
        transition.update(draft=artifact)
    elif spec is not None and isinstance(artifact, Spec):
        transition.set_spec(spec, draft=artifact)
    elif spec is not None and isinstance(artifact, Phase):
        changes = {"phase": artifact, "digest": artifact_digest(artifact)}
        transition.state = transition.state.with_spec(
            spec.with_phase(_phase(spec, step).replace(**changes))
        )


def _accept(transition: Transition, step: StepId) -> None:
    """Accept the draft of a step as its result."""
    transition.passed(step)
    spec, draft = transition.state.spec(step.spec), transition.state.draft
    if step.kind == "plan" and draft is not None:
        digest = artifact_digest(draft)
        transition.update(proposal=draft)
        key = transition.key("decide", transition.state.wished, digest)
        transition.open_job(AskDecision(key=key, digest=digest))
    elif step.kind == "spec" and spec is not None and spec.draft is not None:
        transition.set_spec(
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
        transition.state = transition.state.with_spec(spec.with_phase(begun))


def _checked(transition: Transition, fact: facts.Checked) -> bool:
    check = transition.close_answered(Check, fact.key)
    if check is None:
        return False
    step = check.step
    if fact.concerns:
        _concerned(transition, check, fact)
    elif not fact.passed:
        transition.failed(step, fact.report or "The validation failed without a word.")
    elif step.kind != "code":
        _accept(transition, step)
    elif fact.unchanged and not check.nothing:
        transition.failed(step, UNSAID)
    elif fact.unchanged and not check.judged:
        transition.review_nothing(check)
    else:
        _coded(transition, check, fact)
    return True


def _concerned(transition: Transition, check: Check, fact: facts.Checked) -> None:
    """Ask a person to accept the change, unless they agreed to all concerns in advance."""
    agreed = transition.state.options.agreed
    if all(concern.kind in agreed for concern in fact.concerns):
        kinds = dict.fromkeys(concern.kind.replace("_", " ") for concern in fact.concerns)
        _coded(transition, check, fact, consent=f"agreed in advance: {', '.join(kinds)}")
        return
    concerns: list[JsonValue] = [c.to_json() for c in fact.concerns]
    what: list[JsonValue] = [check.step.path, check.commit, fact.commit, concerns]
    digest = digest_of(canonical(what))
    key = transition.key("consent", check.key)
    transition.open_job(AskConsent(key=key, digest=digest, check=check, checked=fact))


def _consented(transition: Transition, fact: facts.ConsentGiven) -> bool:
    if all(job.key != fact.key for job in consents_of(transition.state, fact.digest)):
        return False
    job = transition.close_answered(AskConsent, fact.key)
    if job is None:
        return False
    if fact.granted:
        kinds = dict.fromkeys(c.kind.replace("_", " ") for c in job.checked.concerns)
        consent = f"{fact.by or 'a person'} agreed: {', '.join(kinds)}"
        _coded(transition, job.check, job.checked, consent=consent)
        return True
    concerns = "\n".join(f"- {concern.text}" for concern in job.checked.concerns)
    report = f"{fact.by or 'A person'} did not agree to this change: {fact.reason}\n{concerns}"
    transition.failed(job.step, f"{report}\n{job.checked.report}".strip())
    return True


def _coded(transition: Transition, check: Check, fact: facts.Checked, consent: str = "") -> None:
    """Complete the code of a phase: committed and validated, or rightly not needed."""
    spec = transition.state.spec(check.step.spec)
    if spec is None:
        return
    transition.passed(check.step)
    spec = transition.state.spec(spec.name) or spec
    done = _phase(spec, check.step).replace(
        commit=fact.commit or check.commit,
        unchanged=fact.unchanged,
        outside=fact.outside,
        refused=fact.refused,
        notes=fact.notes,
        sandbox=fact.sandbox,
        consent=consent,
    )
    transition.state = transition.state.with_spec(spec.with_phase(done))


def _decided(transition: Transition, fact: facts.Decided) -> bool:
    plan = transition.state.proposal
    if plan is None or artifact_digest(plan) != fact.digest:
        return False
    if transition.close_answered(AskDecision, fact.key) is None:
        return False
    transition.update(proposal=None)
    if fact.decision == "approve":
        approve(transition, plan)
    elif fact.decision == "iterate":
        _plan_again(transition, f"{fact.by} says: {fact.reason}")
    elif transition.state.plan is None:
        transition.update(ended="rejected", reason=fact.reason)
    return True


def _plan_again(transition: Transition, feedback: str) -> None:
    """Request another plan, made from the last one and the feedback on it."""
    passes = passes_of("plan", transition.state.options.size, transition.state.options.passes)
    again = transition.state.planning.revived("").with_report(feedback)
    transition.update(planning=again.replace(review=len(passes) - 1))


def _prepared(transition: Transition, fact: facts.BasePrepared) -> bool:
    job = transition.close_answered(PrepareBase, fact.key)
    spec = transition.state.spec(job.spec) if job else None
    if spec is None:
        return False
    if spec.phases:
        transition.set_spec(spec, base=fact.commit, status="building")
    else:
        transition.set_spec(
            spec, base=fact.commit, status="specifying", specifying=spec.specifying.begun()
        )
    return True


def _base_refused(transition: Transition, fact: facts.BaseRefused) -> bool:
    job = transition.close_answered(PrepareBase, fact.key)
    spec = transition.state.spec(job.spec) if job else None
    if job is None or spec is None:
        return False
    if len(job.tips) < len(transition.state.merged):  # all of them have merged before
        transition.prepare(spec, everything=True)
    else:
        transition.set_spec(
            spec, status="failed", reason=f"its base cannot be merged: {fact.report}"
        )
    return True


def _merged(transition: Transition, fact: facts.SpecMerged) -> bool:
    job = transition.close_answered(MergeSpec, fact.key)
    spec = transition.state.spec(job.tip.spec) if job else None
    if spec is None:
        return False
    transition.set_spec(spec, status="done", reason="")
    transition.update(merged=(*transition.state.merged, spec.name), integration=fact.integration)
    return True


def _merge_refused(transition: Transition, fact: facts.MergeRefused) -> bool:
    job = transition.close_answered(MergeSpec, fact.key)
    spec = transition.state.spec(job.tip.spec) if job else None
    if spec is None:
        return False
    spec = transition.set_spec(spec, collisions=spec.collisions + 1)
    if spec.collisions >= transition.state.options.merges:
        transition.set_spec(spec, status="failed", reason=f"its merge was refused: {fact.report}")
    else:
        transition.redo(spec, fact.report)
    return True


def _rebuilt(transition: Transition, fact: facts.IntegrationRebuilt) -> bool:
    if transition.close_answered(RebuildIntegration, fact.key) is None:
        return False
    transition.update(integration=fact.integration, rebuilding=False)
    return True


def _rebuild_refused(transition: Transition, fact: facts.RebuildRefused) -> bool:
    if transition.close_answered(RebuildIntegration, fact.key) is None:
        return False
    drop_collided(transition, fact.spec, fact.report)
    return True


def _revision_requested(transition: Transition, fact: facts.RevisionRequested) -> bool:
    state = transition.state
    if state.plan is None or state.proposal is not None or state.planning.doing != "off":
        return False
    transition.update(draft=state.plan)
    _plan_again(transition, f"{fact.by} says: {fact.feedback}")
    return True


def _retry_requested(transition: Transition, fact: facts.RetryRequested) -> bool:
    transition.update(runs=0)
    if not fact.spec:
        if transition.state.planning.doing == "exhausted":
            transition.update(planning=transition.state.planning.revived(fact.hint))
        return True
    spec = transition.state.spec(fact.spec)
    if spec is None or spec.status != "failed":
        return False
    steps = [StepId(kind="spec", spec=spec.name)]
    for phase in spec.phases:
        steps.append(StepId(kind="phase", spec=spec.name, phase=phase.name))
        steps.append(StepId(kind="code", spec=spec.name, phase=phase.name))
    tired = [s for s in steps if (a := transition.state.attempts(s)) and a.doing == "exhausted"]
    transition.set_spec(spec, status="waiting", reason="")
    if not tired:  # it failed at its base or its merge
        spec = transition.uncode(
            transition.set_spec(spec, collisions=0, status="waiting"), fact.hint
        )
        transition.set_spec(spec, base="", collided=True, reason="")
    for step in tired:
        transition.state = transition.state.with_attempts(step, lambda a: a.revived(fact.hint))
    return True


def _cancel_requested(transition: Transition, fact: facts.BuildCancelRequested) -> bool:
    transition.update(ended="cancelled", reason=fact.reason)
    return True


HANDLERS: dict[type[Any], Callable[[Transition, Any], bool]] = {
    facts.BuildRequested: _requested,
    facts.RunReturned: _returned,
    facts.RunRested: _standing_changed,
    facts.Checked: _checked,
    facts.Decided: _decided,
    facts.ConsentGiven: _consented,
    facts.BasePrepared: _prepared,
    facts.BaseRefused: _base_refused,
    facts.SpecMerged: _merged,
    facts.MergeRefused: _merge_refused,
    facts.IntegrationRebuilt: _rebuilt,
    facts.RebuildRefused: _rebuild_refused,
    facts.RevisionRequested: _revision_requested,
    facts.RetryRequested: _retry_requested,
    facts.BuildCancelRequested: _cancel_requested,
}


def _phase(spec: SpecState, step: StepId) -> PhaseState:
    return next(phase for phase in spec.phases if phase.name == step.phase)
