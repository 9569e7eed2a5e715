"""Telling a build while it happens: which step is under way, what it came to, what is merged."""

from __future__ import annotations

from artificer.builds import facts as f
from artificer.builds import jobs as w
from artificer.builds.gist import gist
from artificer.builds.summary import came_to, left_out
from artificer.cli.terminal.console import one_line
from artificer.cli.terminal.screen import Screen
from artificer.cli.terminal.words import FAILURES, count
from artificer.core import events as ev
from artificer.core.intents import AdvanceBuild, CallTool, Generate
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.runtime.builds.outcome import child_id
from artificer.values.base import Digest

SAID = 160
"""Characters of a report that are shown."""


class BuildProgress:
    """Writes what happens to a build, and to the runs that it started, to a screen.

    ``run`` is the build's id once it is known. Runs that are of no build are not its business.
    """

    def __init__(self, screen: Screen) -> None:
        self.run: str | None = None
        self.failure: ev.ModelFailed | None = None
        self._screen = screen
        self._wishes: dict[Digest, w.Wish] = {}
        self._steps: dict[str, str] = {}
        """What each run of the build works at, by its id."""

    def minds(self, run: str, spec: RunSpec | None) -> bool:
        """Whether a run is a build, or of one."""
        if spec is not None and (spec.kind == "build" or spec.parent):
            self._steps.setdefault(run, "")
        return run in self._steps

    def taken_up(self, run: str, state: RunState) -> None:
        """Take note of what a build had wished for before."""
        if state.build is not None:
            for wish in state.build.open:
                self._wished(run, wish)

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Write what a record means to somebody who waits."""
        if isinstance(line, EventLine):
            self._event(run, line.event)
            return
        match line.intent:
            case AdvanceBuild(wish=wish):
                self._wished(run, wish)
            case Generate(turn=turn):
                self._screen.forming(f"{self._steps.get(run)}: turn {turn}", "")
            case CallTool(tool=tool):
                self._screen.forming(f"{self._steps.get(run)}: {tool}", "")
            case _:
                pass

    def streamed(self, run: str, text: str) -> None:
        """Show which step is being written at."""
        self._screen.forming(f"{self._steps.get(run)}: the model writes", text)

    def _wished(self, run: str, wish: w.Wish) -> None:
        self._wishes[wish.key] = wish
        if isinstance(wish, w.StartRun):
            self._steps[child_id(run, wish)] = _name(wish)
            self._screen.forming(_name(wish), "")
        elif isinstance(wish, w.Check):
            what = f"{wish.step.path}: {'judging' if wish.for_judge else 'validating'}"
            self._steps[child_id(run, wish)] = what
            self._screen.forming(what, "")
        elif isinstance(wish, w.MergeSpec):
            self._screen.forming(f"merging {wish.tip.spec}", "")

    def _event(self, run: str, event: ev.Event) -> None:
        match event:
            case ev.PromptReceived(spec=spec) if spec.kind == "build":
                self.run = run
                self._screen.line(f"build {run} · {spec.provider}/{spec.model}", "dim")
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

    def _fact(self, fact: f.Fact) -> None:
        wish = self._wishes.get(getattr(fact, "key", ""))
        match fact:
            case f.RunReturned(outcome=outcome, detail=detail) if isinstance(wish, w.StartRun):
                why = f": {one_line(detail, SAID)}" if detail else ""
                style = None if outcome == "made" else "bad"
                self._screen.line(f"  {_name(wish)}  {outcome}{why}", style)
            case f.Checked() if isinstance(wish, w.Check):
                self._checked(wish, fact)
            case f.SpecMerged() if isinstance(wish, w.MergeSpec):
                self._screen.line(f"  {wish.tip.spec}  merged", "good")
            case f.MergeRefused(cause=cause, report=report) if isinstance(wish, w.MergeSpec):
                self._screen.line(f"  {wish.tip.spec}  not merged, {cause}", "bad")
                self._said(report)
            case f.BaseRefused(report=report) | f.RebuildRefused(report=report):
                self._said(report)
            case f.ConsentGiven(granted=granted, by=by) if isinstance(wish, w.AskConsent):
                word = "agreed to" if granted else "rejected"
                self._screen.line(f"  {wish.step.path}  {word} by {by}", "strong")
            case f.Decided(decision=decision, by=by, reason=reason):
                words = {"approve": "approved", "reject": "rejected", "iterate": "sent back"}
                told = f": {one_line(reason, SAID)}" if reason else ""
                self._screen.line(f"  the plan was {words[decision]} by {by}{told}", "strong")
            case _:
                pass

    def _checked(self, wish: w.Check, fact: f.Checked) -> None:
        good = fact.passed and not fact.concerns
        style = "good" if good else "strong" if fact.concerns else "bad"
        self._screen.line(f"  {wish.step.path}  {came_to(wish, fact)}", style)
        if not fact.passed:
            self._said(fact.report)
        for concern in fact.concerns:
            self._screen.line(f"      needs consent: {one_line(concern.text, SAID)}", "bad")
        for text in left_out(fact):
            self._screen.line(f"      {one_line(text, SAID)}", "dim")

    def _said(self, report: str) -> None:
        for line in gist(report).splitlines():
            self._screen.line(f"      {one_line(line, SAID)}", "bad")


def _name(wish: w.StartRun) -> str:
    attempt = "" if wish.attempt == 1 else f", run {wish.attempt}"
    review = "" if wish.review == "draft" else f", {wish.review}"
    return f"{wish.step.path}{review}{attempt}"


def summary_of(state: RunState) -> str:
    """How many specs of a build are merged."""
    build = state.build
    if build is None or not build.specs:
        return ""
    return f"{len(build.merged)} of {count(len(build.specs), 'spec')} merged"
