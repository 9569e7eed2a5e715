"""The summary of a finished build, as text for the person who requested it."""

from __future__ import annotations

from collections.abc import Iterator

from artificer.builds import facts, jobs
from artificer.builds.state import BuildState, SpecState
from artificer.values.text import clip


def summary_of(build: BuildState) -> str:
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
    """Yield the notes on a spec's phases for the person who takes it over."""
    for phase in spec.phases:
        where = f"{spec.name}/{phase.name}"
        if phase.consent:
            yield f"- {where}: {phase.consent}."
        yield from (f"- {where}: {clip(text, 300)}" for text in phase.notes)
        yield from (f"- {where}: not committed: {clip(text, 300)}" for text in phase.refused)
        if phase.refused or phase.notes or phase.sandbox:  # older records have no such notes
            yield from (f"- {where}: left out, not in its scope: {p}" for p in phase.outside)


def came_to(job: jobs.Check, fact: facts.Checked) -> str:
    """Return the result of a validation, or of a judge, in a few words."""
    if job.for_judge:
        return "accepted" if fact.passed else "rejected"
    if fact.concerns:
        return "passed, but needs consent" if fact.passed else "failed as before, needs consent"
    if fact.unchanged:
        return "passed, nothing changed" if fact.passed and job.nothing else "nothing was changed"
    tests = "" if fact.tests is None else f", {fact.tests} test{'' if fact.tests == 1 else 's'} ran"
    if tests and fact.passed_before and fact.tests_before is not None:
        tests += f" (before: {fact.tests_before})"
    sandbox = ", no sandbox" if fact.sandbox == "none" else ""
    return f"{'passed' if fact.passed else 'failed'}{tests}{sandbox}"


def left_out(fact: facts.Checked) -> Iterator[str]:
    """Yield the changes of a run that are not in the commit."""
    if fact.outside:
        yield f"left out, not in the phase's scope: {', '.join(fact.outside)}"
    yield from (f"not committed: {text}" for text in fact.refused)
    yield from fact.notes


def job_in_words(job: jobs.Job) -> str:
    """Return a job in words."""
    match job:
        case jobs.StartRun(step=step, attempt=attempt):
            words = f"the run of {step.path}, attempt {attempt}"
        case jobs.CancelRun(step=step):
            words = f"the end of the run of {step.path}"
        case jobs.Check(step=step):
            which = "a judge's verdict on" if job.for_judge else "the validation of"
            words = f"{which} {step.path}"
        case jobs.AskDecision(digest=digest):
            words = f"a decision about the plan {digest}"
        case jobs.AskConsent(digest=digest):
            words = f"a person's consent to the change {digest} of {job.step.path}"
        case jobs.MergeSpec(tip=tip):
            words = f"the merge of {tip.spec}"
        case jobs.PrepareBase(spec=spec):
            words = f"the tree that {spec} begins from"
        case jobs.RebuildIntegration():
            words = "the integration branch, made again"
        case jobs.FinishBuild(status=status):
            words = f"the end: {status}"
    return words


def happened(fact: facts.Fact) -> str:
    """Return a fact in words, without its job."""
    match fact:
        case facts.RunReturned(outcome=outcome, detail=detail):
            words = f"{outcome} {detail}"
        case facts.RunRested(standing=standing, reason=reason):
            words = f"{standing}: {reason}"
        case facts.Checked(passed=passed, report=report):
            words = "passed" if passed else f"failed: {report}"
        case facts.ConsentGiven(granted=granted, by=by, reason=reason):
            words = f"{'agreed' if granted else 'did not agree'}: {by} {reason}"
        case facts.Decided(decision=decision, by=by, reason=reason):
            words = f"{decision} by {by} {reason}"
        case facts.BasePrepared(commit=commit):
            words = commit
        case facts.SpecMerged(integration=commit) | facts.IntegrationRebuilt(integration=commit):
            words = commit
        case facts.MergeRefused(cause=cause, report=report):
            words = f"{cause}: {report}"
        case facts.BaseRefused(report=report) | facts.RebuildRefused(report=report):
            words = report
        case facts.RetryRequested(spec=spec, hint=hint):
            words = f"{spec or 'the plan'} {hint}"
        case (
            facts.BuildRequested(request=words)
            | facts.BuildCancelRequested(reason=words)
            | facts.RevisionRequested(feedback=words)
        ):
            pass
    return words.strip()
