"""One transition of a build: the changed state, and the jobs it leads to."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from artificer.artifacts.dependencies import closure
from artificer.builds.attempts import Attempts
from artificer.builds.jobs import (
    CancelRun,
    Check,
    Job,
    OpenJob,
    PrepareBase,
    StartRun,
    StepId,
)
from artificer.builds.state import BuildState, SpecState
from artificer.builds.table import STEP_RULES, passes_of
from artificer.values.base import Digest, JsonValue
from artificer.values.canon import canonical, digest_of

Open = TypeVar("Open", bound=OpenJob)


class Transition(Struct):
    """Collects the effects of a fact. ``state`` is replaced, never changed."""

    state: BuildState
    jobs: list[Job] = []

    def update(self, **changes: object) -> None:
        """Replace members of the state."""
        self.state = self.state.replace(**changes)

    def set_spec(self, spec: SpecState, **changes: object) -> SpecState:
        """Replace a spec with a copy that has these members, and return the copy."""
        changed = spec.replace(**changes)
        self.state = self.state.with_spec(changed)
        return changed

    def key(self, *parts: JsonValue) -> Digest:
        """Return a key that is the same for the same job of the same build."""
        return digest_of(canonical([self.state.build, *parts]))

    def open_job(self, job: OpenJob) -> None:
        """Open a job that a fact will answer."""
        self.update(open=(*self.state.open, job), wished=self.state.wished + 1)
        self.jobs.append(job)

    def close_answered(self, kind: type[Open], key: Digest) -> Open | None:
        """Close and return the open job that a fact answers, or None if it is no longer open."""
        for job in self.state.open:
            if isinstance(job, kind) and job.key == key:
                self._close(job)
                return job
        return None

    def drop_job(self, job: OpenJob, reason: str) -> None:
        """Close an open job without its fact. A run in progress is cancelled."""
        self._close(job)
        if isinstance(job, StartRun):
            self.jobs.append(CancelRun(key=job.key, step=job.step, reason=reason))

    def _close(self, job: OpenJob) -> None:
        self.update(
            open=tuple(other for other in self.state.open if other is not job),
            resting=tuple(r for r in self.state.resting if r.key != job.key),
        )

    # --- runs and checks ------------------------------------------------------------------------

    def start_run(self, step: StepId, parent: Digest | None, commit: str) -> None:
        """Start the next run of an idle step, unless the build has used all its runs."""
        attempts = self.state.attempts(step)
        if attempts is None or attempts.doing != "idle":
            return
        if self.state.runs >= self.state.options.runs:
            return
        number = attempts.number + 1
        passes = passes_of(step.kind, self.state.options.size, self.state.options.passes)
        generation = spec.generation if (spec := self.state.spec(step.spec)) else 0
        self._attempt(step, attempts.replace(doing="running", number=number))
        self.update(runs=self.state.runs + 1)
        self.open_job(
            StartRun(
                key=self.key("run", step.path, generation, number, parent),
                step=step,
                attempt=number,
                review=passes[min(attempts.review, len(passes) - 1)],
                commit=commit,
            )
        )

    def check(self, run: StartRun, *, nothing: bool = False) -> None:
        """Validate the work of a run. ``nothing`` means that it claimed to have nothing to do."""
        attempts = self.state.attempts(run.step)
        if attempts is None:
            return
        self._attempt(run.step, attempts.replace(doing="checking"))
        self.open_job(
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
        """Let a judge decide whether nothing had to be done: an unchanged tree proves little."""
        key = self.key("nothing", check.run)
        self.open_job(check.replace(key=key, judged=True))

    def failed(self, step: StepId, report: str) -> None:
        """Count a failure. An exhausted step fails its spec."""
        attempts, options = self.state.attempts(step), self.state.options
        if attempts is None:
            return
        limit = options.attempts or STEP_RULES[step.kind].attempts
        attempts = attempts.failed(report, limit=limit, repeats=options.repeats)
        self._attempt(step, attempts)
        spec = self.state.spec(step.spec)
        if attempts.doing == "exhausted" and spec is not None:
            self.set_spec(
                spec, status="failed", reason=f"{step.path}: {attempts.why(options.repeats)}"
            )

    def passed(self, step: StepId) -> None:
        """Complete a step."""
        attempts = self.state.attempts(step)
        if attempts is not None:
            self._attempt(step, attempts.replace(doing="off"))

    def _attempt(self, step: StepId, attempts: Attempts) -> None:
        self.state = self.state.with_attempts(step, lambda _: attempts)

    # --- bases ----------------------------------------------------------------------------------

    def prepare(self, spec: SpecState, *, everything: bool = False) -> None:
        """Start a spec from its dependencies alone, or from everything that is merged.

        The first keeps a spec independent of other specs, so that those can be revised
        without it (its dependencies may have more in their trees, and bring that along). The
        second is for a spec whose merge collided with the others.
        """
        spec = self.set_spec(spec, status="preparing", basis=(), base="", reason="")
        wanted = set(self.state.merged) if everything else closure([spec.name], self.state.built_on)
        tips = self.state.tips(wanted - {spec.name})
        basis = tuple(tip.spec for tip in tips)
        self.set_spec(spec, basis=basis)
        self.open_job(
            PrepareBase(
                key=self.key("prepare", self.state.wished, spec.name),
                spec=spec.name,
                base=self.state.base,
                tips=tips,
            )
        )

    def redo(self, spec: SpecState, report: str) -> None:
        """Code a spec's phases again on top of everything merged. Their artifacts are kept."""
        self.prepare(self.uncode(spec, report), everything=True)

    def uncode(self, spec: SpecState, report: str) -> SpecState:
        """Reset the code of all the spec's phases, with the report for the next attempts."""
        phases = tuple(
            phase.replace(
                commit="",
                unchanged=False,
                outside=(),
                refused=(),
                notes=(),
                sandbox="",
                consent="",
                coding=phase.coding.with_report(report).revived("")
                if phase.phase
                else phase.coding,
            )
            for phase in spec.phases
        )
        return self.set_spec(spec, phases=phases)
