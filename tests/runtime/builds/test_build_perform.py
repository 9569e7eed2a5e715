"""Builds whose tree is real: the scheduler wishes, git and the validation commands answer."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from git_project import AT, content, files_of, git, project, write

from artificer.artifacts import build_catalog
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan
from artificer.artifacts.spec import Spec
from artificer.builds import facts, jobs
from artificer.builds.scheduler import schedule
from artificer.builds.state import BuildState
from artificer.runtime.builds.detect import Project
from artificer.runtime.builds.evidence.weigh import Validation
from artificer.runtime.builds.perform import TreePerformer, keep_for
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.builds.validate import Validator
from build_world import done

COMMAND = "python -m unittest -q"
PYTHON = Project(bins=(str(Path(sys.executable).parent),))

TEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        "
GOOD = TEST + "import {0}; self.assertEqual({0}.VALUE, 1)\n"

Files = dict[str, str]


def stored(tool: str, **arguments: Any) -> Any:
    return build_catalog.store(tool, arguments)


def plan_of(graph: dict[str, list[str]], **words: str) -> Plan:
    specs = [
        {"name": n, "title": n, "description": words.get(n, f"Make {n}."), "dependencies": d}
        for n, d in graph.items()
    ]
    made = stored("create_plan", title="P", overview="O", specs=specs)
    assert isinstance(made, Plan)
    return made


@dataclass
class Builder:
    """Drives a build: ``work`` says what the code run of a spec's phase writes."""

    performer: TreePerformer
    plan: Plan
    work: Callable[[str, int, int], Files]
    state: BuildState = field(default_factory=BuildState)
    seen: list[Any] = field(default_factory=list)

    def tell(self, fact: facts.Fact) -> None:
        self.seen.append(fact)
        self.state, _ = schedule(self.state, fact)

    async def go(self, until: Callable[[BuildState], bool] = lambda state: False) -> None:
        while self.state.open and not until(self.state):
            wish = self.state.open[0]
            if isinstance(wish, jobs.AskDecision) and self.state.plan is not None:
                return
            self.tell(await self.answer(wish))

    async def answer(self, wish: Any) -> facts.Fact:  # noqa: PLR0911  # one for each wish
        tree = self.performer
        match wish:
            case jobs.StartRun():
                return facts.RunReturned(
                    key=wish.key, outcome="made", artifact=await self.run(wish)
                )
            case jobs.AskDecision():
                return facts.Decided(key=wish.key, digest=wish.digest, decision="approve", by="me")
            case jobs.PrepareBase():
                return await tree.prepare(wish)
            case jobs.Check():
                if wish.for_judge:
                    return facts.Checked(key=wish.key, passed=True, unchanged=True)
                return await tree.check(self.state, wish, AT)
            case jobs.MergeSpec():
                return await tree.merge(wish)
            case jobs.RebuildIntegration():
                return await tree.rebuild(wish)
        raise AssertionError(wish)

    async def run(self, wish: jobs.StartRun) -> facts.Made:
        step = wish.step
        if step.kind == "plan":
            return self.plan
        if step.kind == "spec":
            phases = [
                {
                    "name": f"p{n}",
                    "title": f"P{n}",
                    "description": "D",
                    "files": [f"{step.spec}/", "shared.py"],
                }
                for n in (1, 2, 3)
            ]
            made = stored("create_spec", name=step.spec, title="S", overview="O", phases=phases)
            assert isinstance(made, Spec)
            return made
        if step.kind == "phase":
            made = stored(
                "create_phase",
                name=step.phase,
                title=f"Do {step.phase} of {step.spec}",
                objective="O",
                tasks=[{"description": "T", "file": f"test_{step.spec}_{step.phase}.py"}],
                validation_command=COMMAND,
            )
            assert isinstance(made, Phase)
            return made
        worktree = await self.performer.worktree(wish)
        files = self.work(step.spec, int(step.phase[1:]), wish.attempt)
        write(worktree.path, files)
        return done(nothing_to_do=not files)


def ordinary(spec: str, phase: int, attempt: int) -> Files:
    """A module with a test, made in the first phase; the others have nothing left to do."""
    if phase > 1:
        return {}
    return {f"{spec}/__init__.py": "VALUE = 1\n", f"test_{spec}_p1.py": GOOD.format(spec)}


async def builder(
    tmp_path: Path,
    graph: dict[str, list[str]],
    work: Callable[[str, int, int], Files] = ordinary,
    **options: Any,
) -> Builder:
    home = project(tmp_path / "project", {"test_base.py": TEST + "pass\n"})
    repository = await BuildRepository.open(tmp_path / "build", home)
    made = Builder(TreePerformer(repository, Validator(PYTHON, seconds=60)), plan_of(graph), work)
    settings = facts.BuildOptions(size="small", **options)
    made.tell(facts.BuildRequested(build="b", request="R", base=repository.base, options=settings))
    return made


def bare(build: Builder) -> Path:
    return build.performer.repository.folder / "repo.git"


def checks(build: Builder, **members: Any) -> list[facts.Checked]:
    found = [fact for fact in build.seen if isinstance(fact, facts.Checked)]
    return [c for c in found if all(getattr(c, name) == v for name, v in members.items())]


@pytest.mark.req("build-validation", "build-merge")
async def test_a_build_comes_to_a_branch_that_holds_every_spec(tmp_path: Path) -> None:
    def work(spec: str, phase: int, attempt: int) -> Files:
        made = ordinary(spec, phase, attempt)
        if spec == "b" and phase == 1:  # it can use what it depends on
            made["b/__init__.py"] = "import a\nVALUE = a.VALUE\n"
        return made

    build = await builder(tmp_path, {"a": [], "b": ["a"]}, work)
    await build.go()
    assert build.state.ended == "completed"
    repository = build.performer.repository
    assert await repository.integration() == build.state.integration
    assert files_of(bare(build), build.state.integration) == [
        "a/__init__.py",
        "b/__init__.py",
        "test_a_p1.py",
        "test_b_p1.py",
        "test_base.py",
    ]
    spec = build.state.specs[0]
    assert [phase.unchanged for phase in spec.phases] == [False, True, True]
    assert git(bare(build), "log", "--format=%s", "-1", spec.tip) == "Do p1 of a"
    assert await repository.clean_up(keep_for(build.state))
    assert list((repository.folder / "work").iterdir()) == []


@dataclass(frozen=True)
class Counting(Validator):
    """Notes the worktrees in which it runs commands."""

    ran: list[str] = field(default_factory=list)

    async def one(self, line: str, worktree: Path) -> Validation:
        self.ran.append(worktree.name)
        return await super().one(line, worktree)


@pytest.mark.req("build-check-once")
async def test_a_phase_begins_from_a_tree_that_was_checked(tmp_path: Path) -> None:
    def work(spec: str, phase: int, attempt: int) -> Files:
        return {f"test_a_p{phase}.py": TEST + "pass\n"}

    build = await builder(tmp_path, {"a": []}, work)
    counting = Counting(PYTHON, seconds=60)
    build.performer = replace(build.performer, validator=counting)
    await build.go(until=lambda state: any(isinstance(x, jobs.MergeSpec) for x in state.open))
    (merge,) = [x for x in build.state.open if isinstance(x, jobs.MergeSpec)]
    await build.go()
    assert build.state.ended == "completed"
    kinds = [name.partition("-")[0] for name in counting.ran]
    assert kinds == ["before", "check", "check", "check"], "nothing had to be merged"
    counting.ran.clear()
    fresh = TreePerformer(build.performer.repository, counting)
    assert isinstance(await fresh.perform(merge), facts.SpecMerged)
    assert [name.partition("-")[0] for name in counting.ran] == ["merge"], "it knows no result"
    found = [(c.tests_before, c.tests) for c in checks(build) if c.tests is not None]
    assert found == [(1, 2), (2, 3), (3, 4)]


@pytest.mark.req("build-validation")
async def test_what_the_command_said_is_in_the_next_attempts_report(tmp_path: Path) -> None:
    def work(spec: str, phase: int, attempt: int) -> Files:
        made = ordinary(spec, phase, attempt)
        if phase == 1 and attempt == 1:
            made[f"{spec}/__init__.py"] = "VALUE = 2\n"
        return made

    build = await builder(tmp_path, {"a": []}, work)
    await build.go()
    (failure,) = checks(build, passed=False)
    assert failure.report.startswith(f"$ {COMMAND}\nexit code 1\n")
    assert "AssertionError: 2 != 1" in failure.report
    assert build.state.ended == "completed"
    again = next(x for x in build.state.specs[0].phases if x.name == "p1")
    assert again.coding.number == 2 and again.coding.reports == (failure.report,)


@pytest.mark.req("build-validation", "build-scope")
async def test_what_is_out_of_scope_cannot_make_a_validation_pass(tmp_path: Path) -> None:
    def work(spec: str, phase: int, attempt: int) -> Files:
        made = ordinary(spec, phase, attempt)
        if phase == 1 and attempt == 1:
            made |= {
                "helper.py": "VALUE = 1\n",
                f"{spec}/__init__.py": "from helper import VALUE\n",
            }
        return made

    build = await builder(tmp_path, {"a": []}, work)
    await build.go()
    assert build.state.ended == "completed"
    (failure,) = checks(build, passed=False)
    assert "No module named 'helper'" in failure.report
    assert "Left out, for the phase's scope does not name them (1): helper.py." in failure.report
    assert failure.outside == ("helper.py",)


@pytest.mark.req("build-merge")
async def test_a_spec_that_conflicts_is_coded_again_on_top_of_the_other(tmp_path: Path) -> None:
    def work(spec: str, phase: int, attempt: int) -> Files:
        made = ordinary(spec, phase, attempt)
        if phase == 1:
            made["shared.py"] = "FROM = 'a'\n" if spec == "a" else f"FROM = 'b{attempt}'\n"
        return made

    build = await builder(tmp_path, {"a": [], "b": []}, work)
    await build.go()
    refused = [fact for fact in build.seen if isinstance(fact, facts.MergeRefused)]
    assert [fact.cause for fact in refused] == ["conflict"]
    assert "shared.py" in refused[0].report
    assert build.state.ended == "completed"
    assert build.state.specs[1].basis == ("a",)
    assert content(bare(build), build.state.integration, "shared.py") == "FROM = 'b2'"
    assert "a/__init__.py" in files_of(bare(build), build.state.integration)


@pytest.mark.req("build-merge", "build-validation")
async def test_a_merge_whose_tree_fails_is_refused_though_both_sides_passed(
    tmp_path: Path,
) -> None:
    def work(spec: str, phase: int, attempt: int) -> Files:
        made = ordinary(spec, phase, attempt)
        if phase == 1 and attempt == 1 and spec == "b":
            made["b/test_alone.py"] = ""
            made["test_b_p1.py"] = (
                TEST + "import os; self.assertFalse(os.path.exists('a'), 'a is here')\n"
            )
        return made

    build = await builder(tmp_path, {"a": [], "b": []}, work)
    await build.go()
    refused = [fact for fact in build.seen if isinstance(fact, facts.MergeRefused)]
    assert [fact.cause for fact in refused] == ["validation"]
    assert "a is here" in refused[0].report
    assert build.state.ended == "completed"


@pytest.mark.req("build-cleanup")
async def test_every_wish_can_be_performed_twice(tmp_path: Path) -> None:
    """As after a crash between an effect and its record."""
    build = await builder(tmp_path, {"a": [], "b": ["a"]})
    while build.state.open:
        wish = build.state.open[0]
        first = await build.answer(wish)
        assert await build.answer(wish) == first
        build.tell(first)
    assert build.state.ended == "completed"


@pytest.mark.req("build-cleanup")
async def test_a_build_goes_on_after_all_but_the_facts_and_the_repository_is_gone(
    tmp_path: Path,
) -> None:
    build = await builder(tmp_path, {"a": [], "b": ["a"]})
    await build.go(until=lambda state: state.merged == ("a",))
    repository = build.performer.repository
    shutil.rmtree(repository.folder / "work")
    shutil.rmtree(repository.folder / "index")
    again = await BuildRepository.open(repository.folder, tmp_path / "project")
    fresh = Builder(TreePerformer(again, build.performer.validator), build.plan, ordinary)
    for fact in build.seen:
        fresh.tell(fact)
    assert fresh.state == build.state
    await fresh.go()
    assert fresh.state.ended == "completed"


@pytest.mark.req("build-revision", "build-merge")
async def test_a_revision_takes_a_specs_work_out_of_the_branch(tmp_path: Path) -> None:
    build = await builder(tmp_path, {"a": [], "b": [], "c": ["a"]})
    await build.go(until=lambda state: len(state.merged) == 2)
    assert set(build.state.merged) == {"a", "b"}
    build.plan = plan_of({"b": []})
    build.tell(facts.RevisionRequested(feedback="Only b.", by="me"))
    await build.go(until=lambda s: any(isinstance(x, jobs.AskDecision) for x in s.open))
    (ask,) = [x for x in build.state.open if isinstance(x, jobs.AskDecision)]
    build.tell(facts.Decided(key=ask.key, digest=ask.digest, decision="approve", by="me"))
    await build.go()
    assert build.state.ended == "completed" and build.state.merged == ("b",)
    integration = await build.performer.repository.integration()
    assert files_of(bare(build), integration) == [
        "b/__init__.py",
        "test_b_p1.py",
        "test_base.py",
    ]
    assert {x.spec.name for x in build.state.archive} == {"a", "c"}


@pytest.mark.req("build-validation")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rm -rf .", "Only these commands are run"),
        ("python -m unittest | tail", "holds shell syntax"),
        ("pytest-that-is-not-there", "Only these commands are run"),
        ("npm-not-here test", "Only these"),
    ],
)
async def test_a_command_that_may_not_run_does_not(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "kept").touch()
    validation = await Validator(PYTHON).one(line, tmp_path)
    assert not validation.passed and told in validation.report
    assert (tmp_path / "kept").exists()


@pytest.mark.req("build-validation")
async def test_a_program_that_is_missing_and_one_that_hangs_have_failed(tmp_path: Path) -> None:
    missing = Project(bins=("/nonexistent",))
    gone = await Validator(missing).one("go test ./...", tmp_path)
    if shutil.which("go") is None:
        assert "could not be started" in gone.report and not gone.passed
    (tmp_path / "test_hang.py").write_text("import time\ntime.sleep(600)\n")
    hung = await Validator(PYTHON, seconds=0.5).one(COMMAND, tmp_path)
    assert not hung.passed and "did not end within 0.5 s" in hung.report


@pytest.mark.req("build-validation")
async def test_a_long_output_keeps_its_end(tmp_path: Path) -> None:
    (tmp_path / "test_long.py").write_text("print('x' * 100_000)\nprint('the end')\n")
    (tmp_path / "test_bad.py").write_text("raise SystemExit(3)\n")
    validation = await Validator(PYTHON).one(COMMAND, tmp_path)
    assert "the end" in validation.report and len(validation.report) < 8_000
