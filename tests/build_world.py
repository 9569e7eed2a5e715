"""A world in which builds can be driven without models or git: a commit is a set of work."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from artificer.artifacts import build_catalog
from artificer.artifacts.completion import Completion
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan
from artificer.artifacts.spec import Spec
from artificer.builds import facts, jobs
from artificer.builds.scheduler import schedule
from artificer.builds.state import BuildState, artifact_digest

BASE = "base"


def plan_of(graph: dict[str, Iterable[str]], **words: str) -> Plan:
    """A plan of these specs; ``words`` change the description of one, dashes as underscores."""
    specs = [
        {
            "name": name,
            "title": name,
            "description": words.get(name.replace("-", "_"), f"Make {name}."),
            "dependencies": list(dependencies),
        }
        for name, dependencies in graph.items()
    ]
    made = build_catalog.store("create_plan", {"title": "P", "overview": "O", "specs": specs})
    assert isinstance(made, Plan)
    return made


def spec_of(name: str, phases: int = 3) -> Spec:
    made = build_catalog.store(
        "create_spec",
        {
            "name": name,
            "title": name,
            "overview": "O",
            "phases": [
                {"name": f"p{n}", "title": f"P{n}", "description": "D"}
                for n in range(1, phases + 1)
            ],
        },
    )
    assert isinstance(made, Spec)
    return made


def phase_of(name: str, command: str = "make test") -> Phase:
    made = build_catalog.store(
        "create_phase",
        {
            "name": name,
            "title": name,
            "objective": "O",
            "tasks": [{"description": "T"}],
            "validation_command": command,
        },
    )
    assert isinstance(made, Phase)
    return made


def done(*, nothing_to_do: bool = False) -> Completion:
    made = build_catalog.store(
        "complete_task", {"summary": "Done.", "nothing_to_do": nothing_to_do}
    )
    assert isinstance(made, Completion)
    return made


Answer = Callable[[Any], facts.Fact | None]


@dataclass
class BuildWorld:
    """Performs wishes. ``commits`` says what work each commit holds."""

    plan: Plan
    state: BuildState = field(default_factory=BuildState)
    log: list[facts.Fact] = field(default_factory=list)
    wished: list[Any] = field(default_factory=list)
    commits: dict[str, frozenset[str]] = field(default_factory=lambda: {BASE: frozenset()})

    def begin(self, options: facts.BuildOptions | None = None, brief: Phase | None = None) -> None:
        self.tell(
            facts.BuildRequested(
                build="b1",
                request="Make it.",
                base=BASE,
                options=options or facts.BuildOptions(size="small"),
                brief=brief,
            )
        )

    def tell(self, fact: facts.Fact) -> tuple[jobs.Wish, ...]:
        self.log.append(fact)
        self.state, wishes = schedule(self.state, fact)
        self.wished += wishes
        return wishes

    def open(self, kind: type[Any], subject: str = "") -> Any:
        """The one open wish of a kind, about this spec."""
        (found,) = [x for x in self.state.open if isinstance(x, kind) and subject in _about(x)]
        return found

    def approve(self) -> None:
        self.tell(self.answer(self.open(jobs.AskDecision)))

    def answer(self, wish: Any) -> facts.Fact:
        """The fact of a wish that goes well."""
        match wish:
            case jobs.StartRun():
                return facts.RunReturned(
                    key=wish.key, outcome="made", artifact=self._artifact(wish)
                )
            case jobs.Check():
                return facts.Checked(
                    key=wish.key, passed=True, commit=self._commit(wish), unchanged=wish.judged
                )
            case jobs.AskDecision():
                return facts.Decided(key=wish.key, digest=wish.digest, decision="approve", by="me")
            case jobs.PrepareBase():
                return facts.BasePrepared(key=wish.key, commit=self._union(wish.base, wish.tips))
            case jobs.MergeSpec():
                return facts.SpecMerged(
                    key=wish.key, integration=self._union(wish.onto, [wish.tip])
                )
            case jobs.RebuildIntegration():
                return facts.IntegrationRebuilt(
                    key=wish.key, integration=self._union(wish.base, wish.tips)
                )
        raise AssertionError(wish)

    def go(self, *, until: Callable[[BuildState], bool] = lambda state: False) -> None:
        """Answer wishes well, oldest first, until nothing is open or ``until`` holds."""
        for _ in range(2_000):
            if not self.state.open or until(self.state):
                return
            self.tell(self.answer(self.state.open[0]))
        raise AssertionError("the build does not come to an end")

    def _artifact(self, wish: jobs.StartRun) -> facts.Made:
        match wish.step.kind:
            case "plan":
                return self.plan
            case "spec":
                return spec_of(wish.step.spec)
            case "phase":
                return phase_of(wish.step.phase)
        return done()

    def _commit(self, wish: jobs.Check) -> str:
        if wish.for_judge:
            return ""
        spec = self.state.spec(wish.step.spec)
        assert spec is not None
        work = f"{spec.name}.{spec.generation}.{wish.step.phase}"
        return self._new(self.commits[wish.commit] | {work})

    def _union(self, base: str, tips: Iterable[jobs.Tip]) -> str:
        return self._new(self.commits[base].union(*(self.commits[tip.commit] for tip in tips)))

    def _new(self, work: frozenset[str]) -> str:
        name = "+".join(sorted(work)) or BASE
        self.commits[name] = work
        return name


def _about(wish: Any) -> str:
    step = getattr(wish, "step", None)
    if step is not None:
        return str(step.path)
    return str(getattr(wish, "spec", "") or getattr(getattr(wish, "tip", None), "spec", ""))


def replayed(log: list[facts.Fact]) -> BuildState:
    """The state that a log of facts adds up to, computed anew."""
    state = BuildState()
    for fact in copy.deepcopy(log):
        state, _ = schedule(state, fact)
    return state


def work_of(world: BuildWorld, names: Iterable[str]) -> set[str]:
    """Return the files that a tree should hold for these specs, as they are now."""
    found = [spec for name in names if (spec := world.state.spec(name))]
    return {f"{s.name}.{s.generation}.{p.name}" for s in found for p in s.phases}


__all__ = [
    "BASE",
    "BuildWorld",
    "artifact_digest",
    "done",
    "phase_of",
    "plan_of",
    "replayed",
    "spec_of",
    "work_of",
]
