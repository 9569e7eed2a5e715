"""The state of a build, computed from its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from artificer.artifacts.dependencies import Graph
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan, SpecRef
from artificer.artifacts.spec import PhaseRef, Spec
from artificer.builds.attempts import Attempts
from artificer.builds.facts import BuildOptions, RunRested, Standing
from artificer.builds.jobs import AskConsent, AskDecision, OpenJob, SpecTip, StepId
from artificer.values.base import Digest, Text, Value
from artificer.values.canon import digest_of

SpecStatus = Literal[
    "waiting", "preparing", "specifying", "building", "merging", "done", "failed", "blocked"
]
ACTIVE: frozenset[SpecStatus] = frozenset({"preparing", "specifying", "building", "merging"})
"""The statuses that count towards the limit of parallel specs."""

Ending = Literal["completed", "rejected", "cancelled"]


class PhaseState(Value):
    """One phase of a spec: first it is detailed, then it is coded.

    ``commit`` is where its code passed validation. ``unchanged`` says that nothing had to be
    done for it, ``outside`` which changed files were left out, ``refused`` which were not committed
    and why. ``notes`` say what its validation is worth, ``sandbox`` what held it, ``consent`` who
    agreed to what.
    """

    name: str
    detailing: Attempts = Attempts()
    phase: Phase | None = None
    digest: Digest | None = None
    coding: Attempts = Attempts()
    commit: str = ""
    unchanged: bool = False
    outside: tuple[Text, ...] = ()
    refused: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()
    sandbox: Text = ""
    consent: Text = ""


class SpecState(Value):
    """One spec of the plan.

    ``generation`` distinguishes it from an invalidated one of that name. ``basis`` are the specs
    whose work was in the tree it began from, at ``base``; ``collisions`` counts refused merges,
    and ``collided`` says that it is to begin from all that is merged.
    """

    name: str
    generation: int = 0
    status: SpecStatus = "waiting"
    basis: tuple[str, ...] = ()
    base: str = ""
    specifying: Attempts = Attempts()
    draft: Spec | None = None
    accepted: Spec | None = None
    digest: Digest | None = None
    phases: tuple[PhaseState, ...] = ()
    collisions: int = 0
    collided: bool = False
    reason: Text = ""

    @property
    def tip(self) -> str:
        """The commit with its accepted phases."""
        done = [phase.commit for phase in self.phases if phase.commit]
        return done[-1] if done else self.base

    @property
    def current(self) -> PhaseState | None:
        """The first unfinished phase; phases are done in order."""
        return next((phase for phase in self.phases if not phase.commit), None)

    @property
    def commands(self) -> tuple[str, ...]:
        """The validation commands of its phases, without repeats."""
        return tuple(dict.fromkeys(p.phase.validation_command for p in self.phases if p.phase))

    def with_phase(self, phase: PhaseState) -> SpecState:
        """Return a copy in which ``phase`` replaces the phase of the same name."""
        phases = tuple(phase if p.name == phase.name else p for p in self.phases)
        return self.replace(phases=phases)


class Archived(Value):
    """A spec that a revision of the plan, or a collision, made invalid. Its commits are kept."""

    plan: Digest | None
    spec: SpecState
    reason: Text


class BuildState(Value):
    """Everything a build knows.

    ``proposal`` is a plan that nobody has decided about, ``plan`` the approved one. ``merged`` are
    the specs in the integration branch, in order. ``open`` are the jobs that wait for their
    fact: after a crash, they are performed again; ``wished`` counts them, for their keys.
    ``resting`` are the runs among them that are idle before their end. ``steered`` is what a person
    said while no run was under way, for those that begin later. ``stalled`` says why only a
    person can get the build on; it is empty while something is open.
    """

    build: str = ""
    request: str = ""
    base: str = ""
    options: BuildOptions = BuildOptions()
    planning: Attempts = Attempts()
    draft: Plan | None = None
    proposal: Plan | None = None
    plan: Plan | None = None
    specs: tuple[SpecState, ...] = ()
    merged: tuple[str, ...] = ()
    integration: str = ""
    rebuilding: bool = False
    archive: tuple[Archived, ...] = ()
    runs: int = 0
    wished: int = 0
    open: tuple[OpenJob, ...] = ()
    resting: tuple[RunRested, ...] = ()
    steered: tuple[Text, ...] = ()
    stalled: Text = ""
    ended: Ending | None = None
    reason: Text = ""

    @property
    def digest(self) -> Digest:
        """The digest of the state."""
        return digest_of(self.identity())

    @property
    def graph(self) -> Graph:
        """The dependencies in the approved plan; a brief build has one spec."""
        if self.plan is None:
            return {spec.name: () for spec in self.specs}
        return self.plan.graph

    @property
    def built_on(self) -> Graph:
        """For each spec its dependencies, and the specs in the tree that it started from."""
        graph = self.graph
        return {spec.name: (*graph.get(spec.name, ()), *spec.basis) for spec in self.specs}

    @property
    def standing(self) -> Standing | None:
        """The standing of the build when no open job is in progress, or None while one is."""
        found = {entry.key: entry.standing for entry in self.resting}
        consents: dict[Digest, Standing] = {
            job.key: "waiting" for job in self.open if isinstance(job, (AskDecision, AskConsent))
        }
        stands = [(found | consents).get(job.key) for job in self.open]
        ways: tuple[Standing, ...] = ("waiting", "stalled", "paused")
        return None if None in stands else next((way for way in ways if way in stands), None)

    def spec(self, name: str) -> SpecState | None:
        """Return the spec of that name."""
        return next((spec for spec in self.specs if spec.name == name), None)

    def ref(self, name: str) -> SpecRef | None:
        """Return the approved plan's entry for a spec."""
        specs = self.plan.specs if self.plan else ()
        return next((ref for ref in specs if ref.name == name), None)

    def with_spec(self, spec: SpecState) -> BuildState:
        """Return a copy in which ``spec`` replaces the spec of the same name."""
        specs = tuple(spec if s.name == spec.name else s for s in self.specs)
        return self.replace(specs=specs)

    def attempts(self, step: StepId) -> Attempts | None:
        """Return the attempts at a step."""
        if step.kind == "plan":
            return self.planning
        spec = self.spec(step.spec)
        if spec is None or step.kind == "spec":
            return spec.specifying if spec else None
        phase = self.phase(step)
        if phase is None:
            return None
        return phase.detailing if step.kind == "phase" else phase.coding

    def phase(self, step: StepId) -> PhaseState | None:
        """Return the phase of a step."""
        spec = self.spec(step.spec)
        phases = spec.phases if spec else ()
        return next((phase for phase in phases if phase.name == step.phase), None)

    def with_attempts(self, step: StepId, change: Callable[[Attempts], Attempts]) -> BuildState:
        """Return a copy with changed attempts at a step."""
        if step.kind == "plan":
            return self.replace(planning=change(self.planning))
        spec = self.spec(step.spec)
        if spec is None:
            return self
        if step.kind == "spec":
            return self.with_spec(spec.replace(specifying=change(spec.specifying)))
        member = "detailing" if step.kind == "phase" else "coding"
        for phase in spec.phases:
            if phase.name == step.phase:
                changed = phase.replace(**{member: change(getattr(phase, member))})
                spec = spec.with_phase(changed)
        return self.with_spec(spec)

    def tips(self, names: Iterable[str]) -> tuple[SpecTip, ...]:
        """Return the commits of these specs, in the order they were merged."""
        wanted = set(names)
        found = [spec for name in self.merged if name in wanted and (spec := self.spec(name))]
        return tuple(SpecTip(spec=spec.name, commit=spec.tip) for spec in found)


def consents_of(state: BuildState, digest: str = "") -> list[AskConsent]:
    """Return the open questions about changes; with ``digest``, only those that begin with it."""
    consents = [job for job in state.open if isinstance(job, AskConsent)]
    starts = (digest, f"sha256:{digest}")
    return [job for job in consents if job.digest.startswith(starts)]


def phase_ref(spec: Spec, name: str) -> PhaseRef:
    """Return a spec's entry for one of its phases."""
    return next(phase for phase in spec.phases if phase.name == name)


def artifact_digest(artifact: Plan | Spec | Phase) -> Digest:
    """Return the digest that an approval or a child is bound to: of the stored form."""
    return digest_of(artifact.canonical())
