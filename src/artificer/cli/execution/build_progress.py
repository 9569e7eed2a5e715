"""The progress of a build: the steps in progress, their results, merged specs."""

from __future__ import annotations

from artificer.builds import facts, jobs
from artificer.builds.gist import gist
from artificer.builds.summary import came_to, left_out
from artificer.cli.terminal.console import one_line
from artificer.cli.terminal.screen import Screen
from artificer.cli.terminal.words import count
from artificer.core import events as ev
from artificer.core.intents import AdvanceBuild, CallTool, Generate
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.runtime.builds.outcome import job_run_id
from artificer.values.base import Digest
from artificer.values.failure_words import FAILURES

REPORT_WIDTH = 160
"""Characters of a report that are shown."""


class BuildProgress:
    """Shows the progress of a build, and of the runs that it started, on a screen.

    ``run`` is the build's id once it is known. Runs outside a build are ignored.
    """

    def __init__(self, screen: Screen) -> None:
        self.run: str | None = None
        self.failure: ev.ModelFailed | None = None
        self._screen = screen
        self._jobs: dict[Digest, jobs.Job] = {}
        self._steps: dict[str, str] = {}
        """The step that each run of the build works on, by the run's id."""

    def covers(self, run: str, spec: RunSpec | None) -> bool:
        """Return whether a run is a build, or part of one."""
        if spec is not None and (spec.kind == "build" or spec.belongs_to_build):
            self._steps.setdefault(run, "")
        return run in self._steps

    def resumed(self, run: str, state: RunState) -> None:
        """Remember the jobs that a build had started before."""
        if state.build is not None:
            for job in state.build.open:
                self._started(run, job)

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Show a record."""
        if isinstance(line, EventLine):
            self._event(run, line.event)
            return
        match line.intent:
            case AdvanceBuild(wish=job):
                self._started(run, job)
            case Generate(turn=turn):
                self._screen.forming(f"{self._steps.get(run)}: turn {turn}", "")
            case CallTool(tool=tool):
                self._screen.forming(f"{self._steps.get(run)}: {tool}", "")
            case _:
                pass

    def streamed(self, run: str, text: str) -> None:
        """Show the step that the model writes."""
        self._screen.forming(f"{self._steps.get(run)}: the model writes", text)

    def _started(self, run: str, job: jobs.Job) -> None:
        self._jobs[job.key] = job
        if isinstance(job, jobs.StartRun):
            self._steps[job_run_id(run, job)] = _name(job)
            self._screen.forming(_name(job), "")
        elif isinstance(job, jobs.Check):
            step = f"{job.step.path}: {'judging' if job.for_judge else 'validating'}"
            self._steps[job_run_id(run, job)] = step
            self._screen.forming(step, "")
        elif isinstance(job, jobs.MergeSpec):
            self._screen.forming(f"merging {job.tip.spec}", "")

    def _event(self, run: str, event: ev.Event) -> None:
        match event:
            case ev.PromptReceived(spec=spec) if spec.kind == "build":
                self.run = run
                self._screen.line(f"build {run} · {spec.full_name}", "dim")
            case ev.RunResumed() if not self._steps.get(run):
                self.run = run
                self._screen.line(f"build {run} · resumed", "dim")
            case ev.ModelFailed():
                self.failure = event
                step = self._steps.get(run, "")
                self._screen.line(f"  {step}  failed: {FAILURES[event.code]}", "bad")
            case ev.BuildAdvanced(fact=fact):
                self._fact(fact)
            case _:
                pass

    def _fact(self, fact: facts.Fact) -> None:
        job = self._jobs.get(getattr(fact, "key", ""))
        match fact:
            case facts.RunReturned(outcome=outcome, detail=detail) if isinstance(
                job, jobs.StartRun
            ):
                why = f": {one_line(detail, REPORT_WIDTH)}" if detail else ""
                style = None if outcome == "made" else "bad"
                self._screen.line(f"  {_name(job)}  {outcome}{why}", style)
            case facts.Checked() if isinstance(job, jobs.Check):
                self._checked(job, fact)
            case facts.SpecMerged() if isinstance(job, jobs.MergeSpec):
                self._screen.line(f"  {job.tip.spec}  merged", "good")
            case facts.MergeRefused(cause=cause, report=report) if isinstance(job, jobs.MergeSpec):
                self._screen.line(f"  {job.tip.spec}  not merged, {cause}", "bad")
                self._report(report)
            case facts.BaseRefused(report=report) | facts.RebuildRefused(report=report):
                self._report(report)
            case facts.ConsentGiven(granted=granted, by=by) if isinstance(job, jobs.AskConsent):
                word = "agreed to" if granted else "rejected"
                self._screen.line(f"  {job.step.path}  {word} by {by}", "strong")
            case facts.Decided(decision=decision, by=by, reason=reason):
                words = {"approve": "approved", "reject": "rejected", "iterate": "sent back"}
                why = f": {one_line(reason, REPORT_WIDTH)}" if reason else ""
                self._screen.line(f"  the plan was {words[decision]} by {by}{why}", "strong")
            case _:
                pass

    def _checked(self, job: jobs.Check, fact: facts.Checked) -> None:
        good = fact.passed and not fact.concerns
        style = "good" if good else "strong" if fact.concerns else "bad"
        self._screen.line(f"  {job.step.path}  {came_to(job, fact)}", style)
        if not fact.passed:
            self._report(fact.report)
        for concern in fact.concerns:
            self._screen.line(f"      needs consent: {one_line(concern.text, REPORT_WIDTH)}", "bad")
        for text in left_out(fact):
            self._screen.line(f"      {one_line(text, REPORT_WIDTH)}", "dim")

    def _report(self, report: str) -> None:
        for line in gist(report).splitlines():
            self._screen.line(f"      {one_line(line, REPORT_WIDTH)}", "bad")


def _name(job: jobs.StartRun) -> str:
    attempt = "" if job.attempt == 1 else f", run {job.attempt}"
    review = "" if job.review == "draft" else f", {job.review}"
    return f"{job.step.path}{review}{attempt}"


def summary_of(state: RunState) -> str:
    """Return how many specs of a build are merged."""
    build = state.build
    if build is None or not build.specs:
        return ""
    return f"{len(build.merged)} of {count(len(build.specs), 'spec')} merged"
