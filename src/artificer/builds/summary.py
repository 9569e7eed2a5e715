"""What a build came to, in words for whoever asked for it."""

from __future__ import annotations

from collections.abc import Iterator

from artificer.builds import facts as f
from artificer.builds import jobs as w
from artificer.builds.state import BuildState, SpecState
from artificer.values.text import clip


def told(build: BuildState) -> str:
    """The build as Markdown: the plan's title, and how each spec stands."""
    plan = build.plan or build.proposal
    title = plan.title if plan else clip(build.request, 80)
    lines = [f"# {title}", ""]
    if plan is not None:
        lines += [plan.overview, ""]
    lines += [_line(spec) for spec in build.specs]
    if build.merged:
        lines += ["", f"The integration branch is at `{build.integration}`."]
    worth = [line for spec in build.specs for line in _worth(spec)]
    if open_ := [
        f"{s.name}/{p.name}" for s in build.specs for p in s.phases if p.sandbox == "none"
    ]:
        worth.append(f"- Validated without a sandbox: {', '.join(open_)}.")
    if worth:
        lines += ["", *worth]
    if build.resting:
        lines += ["", *(f"`{r.run}` is {r.standing}: {r.reason}" for r in build.resting)]
    if build.stalled:
        lines += ["", f"Stalled: {build.stalled}"]
    if build.reason:
        lines += ["", build.reason]
    return "\n".join(lines).rstrip() + "\n"


def _line(spec: SpecState) -> str:
    done = sum(1 for phase in spec.phases if phase.commit)
    phases = f", {done} of {len(spec.phases)} phases done" if spec.phases else ""
    reason = f": {clip(spec.reason, 300)}" if spec.reason else ""
    return f"- **{spec.name}**: {spec.status}{phases}{reason}"


def _worth(spec: SpecState) -> Iterator[str]:
    """Yield what a person who takes a spec must know of its phases: all of it is recorded."""
    for phase in spec.phases:
        where = f"{spec.name}/{phase.name}"
        if phase.consent:
            yield f"- {where}: {phase.consent}."
        yield from (f"- {where}: {clip(text, 300)}" for text in phase.notes)
        yield from (f"- {where}: not committed: {clip(text, 300)}" for text in phase.refused)
        if phase.refused or phase.notes or phase.sandbox:  # older records told nobody
            yield from (f"- {where}: left out, not in its scope: {p}" for p in phase.outside)


def came_to(wish: w.Check, fact: f.Checked) -> str:
    """Return the result of a validation, or of a judge, in a few words."""
    if wish.for_judge:
        return "accepted" if fact.passed else "rejected"
    if fact.concerns:
        return "passed, but needs consent" if fact.passed else "failed as before, needs consent"
    if fact.unchanged:
        return "passed, nothing changed" if fact.passed and wish.nothing else "nothing was changed"
    tests = "" if fact.tests is None else f", {fact.tests} test{'' if fact.tests == 1 else 's'} ran"
    if tests and fact.passed_before and fact.tests_before is not None:
        tests += f" (before: {fact.tests_before})"
    sandbox = ", no sandbox" if fact.sandbox == "none" else ""
    return f"{'passed' if fact.passed else 'failed'}{tests}{sandbox}"


def left_out(fact: f.Checked) -> Iterator[str]:
    """Yield what a run changed and the commit does not hold."""
    if fact.outside:
        yield f"left out, not in the phase's scope: {', '.join(fact.outside)}"
    yield from (f"not committed: {text}" for text in fact.refused)
    yield from fact.notes


def wished(wish: w.Wish) -> str:
    """What a build waits for, in words."""
    match wish:
        case w.StartRun(step=step, attempt=attempt):
            words = f"the run of {step.path}, attempt {attempt}"
        case w.CancelRun(step=step):
            words = f"the end of the run of {step.path}"
        case w.Check(step=step):
            which = "a judge's verdict on" if wish.for_judge else "the validation of"
            words = f"{which} {step.path}"
        case w.AskDecision(digest=digest):
            words = f"a decision about the plan {digest}"
        case w.AskConsent(digest=digest):
            words = f"a person's consent to the change {digest} of {wish.step.path}"
        case w.MergeSpec(tip=tip):
            words = f"the merge of {tip.spec}"
        case w.PrepareBase(spec=spec):
            words = f"the tree that {spec} begins from"
        case w.RebuildIntegration():
            words = "the integration branch, made anew"
        case w.FinishBuild(status=status):
            words = f"the end: {status}"
    return words


def happened(fact: f.Fact) -> str:
    """What a fact says, in words, without what it answers."""
    match fact:
        case f.RunReturned(outcome=outcome, detail=detail):
            words = f"{outcome} {detail}"
        case f.RunRested(standing=standing, reason=reason):
            words = f"{standing}: {reason}"
        case f.Checked(passed=passed, report=report):
            words = "passed" if passed else f"failed: {report}"
        case f.ConsentGiven(granted=granted, by=by, reason=reason):
            words = f"{'agreed' if granted else 'did not agree'}: {by} {reason}"
        case f.Decided(decision=decision, by=by, reason=reason):
            words = f"{decision} by {by} {reason}"
        case f.BasePrepared(commit=commit):
            words = commit
        case f.SpecMerged(integration=commit) | f.IntegrationRebuilt(integration=commit):
            words = commit
        case f.MergeRefused(cause=cause, report=report):
            words = f"{cause}: {report}"
        case f.BaseRefused(report=report) | f.RebuildRefused(report=report):
            words = report
        case f.RetryRequested(spec=spec, hint=hint):
            words = f"{spec or 'the plan'} {hint}"
        case (
            f.BuildRequested(request=words)
            | f.CancelRequested(reason=words)
            | f.RevisionRequested(feedback=words)
        ):
            pass
    return words.strip()
