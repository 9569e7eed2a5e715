"""One move of a build: a state that changes, and the wishes that this leads to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from artificer.artifacts.dependencies import closure
from artificer.builds.attempts import Attempts
from artificer.builds.jobs import (
    Answered,
    CancelRun,
    Check,
    PrepareBase,
    StartRun,
    StepId,
    Wish,
)
from artificer.builds.state import BuildState, SpecState
from artificer.builds.table import LOOPS, passes_of
from artificer.values.base import Digest, JsonValue
from artificer.values.canon import canonical, digest_of

Open = TypeVar("Open", bound=Answered)


@dataclass
class Move:
    """Collects what a fact leads to. ``state`` is replaced, never changed."""

    state: BuildState
    wishes: list[Wish] = field(default_factory=list)

    def set(self, **changes: object) -> None:
        """Replace members of the state."""
        self.state = self.state.replace(**changes)

    def set_spec(self, spec: SpecState, **changes: object) -> SpecState:
        """Replace a spec, with these members changed."""
        changed = spec.replace(**changes)
        self.state = self.state.with_spec(changed)
        return changed

    def key(self, *parts: JsonValue) -> Digest:
        """A key that is the same for the same wish of the same build."""
        return digest_of(canonical([self.state.build, *parts]))

    def wish(self, wish: Answered) -> None:
        """Wish for something that is answered by a fact."""
        self.set(open=(*self.state.open, wish), wished=self.state.wished + 1)
        self.wishes.append(wish)

    def answered(self, kind: type[Open], key: Digest) -> Open | None:
        """Take the open wish that a fact answers, or None if there is none any more."""
        for wish in self.state.open:
            if isinstance(wish, kind) and wish.key == key:
                self._close(wish)
                return wish
        return None

    def drop(self, wish: Answered, reason: str) -> None:
        """Let go of an open wish: its fact will change nothing. A run under way is ended."""
        self._close(wish)
        if isinstance(wish, StartRun):
            self.wishes.append(CancelRun(key=wish.key, step=wish.step, reason=reason))

    def _close(self, wish: Answered) -> None:
        self.set(
            open=tuple(w for w in self.state.open if w is not wish),
            resting=tuple(r for r in self.state.resting if r.key != wish.key),
        )

    # --- runs and checks ------------------------------------------------------------------------

    def start(self, step: StepId, parent: Digest | None, commit: str) -> None:
        """Start the next run of a step that is idle, unless the build has had all its runs."""
        attempts = self.state.attempts(step)
        if attempts is None or attempts.doing != "idle":
            return
        if self.state.runs >= self.state.options.runs:
            return
        number = attempts.number + 1
        passes = passes_of(step.kind, self.state.options.size, self.state.options.passes)
        generation = spec.generation if (spec := self.state.spec(step.spec)) else 0
        self._attempt(step, attempts.replace(doing="running", number=number))
        self.set(runs=self.state.runs + 1)
        self.wish(
            StartRun(
                key=self.key("run", step.path, generation, number, parent),
                step=step,
                attempt=number,
                review=passes[min(attempts.review, len(passes) - 1)],
                commit=commit,
            )
        )

    def check(self, run: StartRun, *, nothing: bool = False) -> None:
        """Have what a run made validated. ``nothing``: it said that there was nothing to do."""
        attempts = self.state.attempts(run.step)
        if attempts is None:
            return
        self._attempt(run.step, attempts.replace(doing="checking"))
        self.wish(
            Check(
                key=self.key("check", run.key),
                step=run.step,
                run=run.key,
                attempt=run.attempt,
                commit=run.commit,
                nothing=nothing,
            )
        )

    def review_nothing(self, check: Check) -> None:
        """Ask a judge whether nothing had to be done: a tree that is as it was says little."""
        key = self.key("nothing", check.run)
        self.wish(check.replace(key=key, judged=True))

    def failed(self, step: StepId, report: str) -> None:
        """Count a failure; a step that is exhausted fails its spec."""
        attempts, options = self.state.attempts(step), self.state.options
        if attempts is None:
            return
        most = options.attempts or LOOPS[step.kind].attempts
        attempts = attempts.failed(report, most=most, repeats=options.repeats)
        self._attempt(step, attempts)
        spec = self.state.spec(step.spec)
        if attempts.doing == "exhausted" and spec is not None:
            self.set_spec(
                spec, status="failed", reason=f"{step.path}: {attempts.why(options.repeats)}"
            )

    def passed(self, step: StepId) -> None:
        """Nothing more is owed at a step."""
        attempts = self.state.attempts(step)
        if attempts is not None:
            self._attempt(step, attempts.replace(doing="off"))

    def _attempt(self, step: StepId, attempts: Attempts) -> None:
        self.state = self.state.with_attempts(step, lambda _: attempts)

    # --- bases ----------------------------------------------------------------------------------

    def prepare(self, spec: SpecState, *, everything: bool = False) -> None:
        """Let a spec begin: from what it depends on and nothing else, or from all that is merged.

        The first keeps a spec free of what it does not depend on, so that this can be revised
        without it (what it depends on may have more in its tree, and brings that along). The
        second is for a spec that collided with the rest.
        """
        spec = self.set_spec(spec, status="preparing", basis=(), base="", reason="")
        wanted = set(self.state.merged) if everything else closure([spec.name], self.state.built_on)
        tips = self.state.tips(wanted - {spec.name})
        basis = tuple(tip.spec for tip in tips)
        self.set_spec(spec, basis=basis)
        self.wish(
            PrepareBase(
                key=self.key("prepare", self.state.wished, spec.name),
                spec=spec.name,
                base=self.state.base,
                tips=tips,
            )
        )

    def redo(self, spec: SpecState, report: str) -> None:
        """Code a spec's phases again, on top of all that is merged. Their artifacts stay."""
        self.prepare(self.uncode(spec, report), everything=True)

    def uncode(self, spec: SpecState, report: str) -> SpecState:
        """The spec with the code of all its phases still to be made, and told why."""
        phases = tuple(
            phase.replace(
                commit="",
                unchanged=False,
                outside=(),
                refused=(),
                notes=(),
                sandbox="",
                consent="",
                coding=phase.coding.told(report).revived("") if phase.phase else phase.coding,
            )
            for phase in spec.phases
        )
        return self.set_spec(spec, phases=phases)
