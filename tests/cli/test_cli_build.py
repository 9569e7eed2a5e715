"""`artificer build`, as its user meets it: real processes, real git, a model behind an API."""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Shell, Terminal, finish, lines_until
from engineer import UNITTEST, Job, Work
from engineer_server import answering
from git_project import git, write
from jobs import BRIEF, GREETER, SHOUT
from parts import CHECK, ONE, PROJECT, part
from quick_python import quick_python
from strict_server import Hangs, StrictServer, Turn
from test_cli_terminal import start_at, terminal

pytestmark = pytest.mark.req("cli-build")

__all__ = ["quick_python", "terminal"]

SMALL = ("--size", "small")


def begin(shell: Shell, files: dict[str, str]) -> Path:
    """A repository in the shell's folder, with one commit."""
    git(shell.cwd, "init", "-q", "-b", "main")
    write(shell.cwd, {**files, ".gitignore": "__pycache__/\nartificer.toml\n"})
    git(shell.cwd, "add", "-A")
    git(shell.cwd, "commit", "-qm", "Begin")
    return shell.cwd


@asynccontextmanager
async def engineer(shell: Shell, job: Job, *, hangs_at: str = "") -> AsyncIterator[list[str]]:
    """A model that does a job; it hangs where a tool of the list is offered."""
    answer, hanging = answering(job), [hangs_at] if hangs_at else []

    def turn(body: dict[str, Any]) -> Turn:
        offered = {tool["function"]["name"] for tool in body["tools"]}
        return Hangs("Well") if offered & set(hanging) else answer(body)

    async with StrictServer(answer=turn) as server:
        shell.configure(server.url)
        yield hanging


async def test_from_a_request_to_ones_own_branch(shell: Shell) -> None:
    home = begin(shell, GREETER)
    write(home, {"notes.txt": "mine\n"})
    async with engineer(shell, SHOUT):
        begun = await shell.run("build", "Add an option --shout", *SMALL)
        assert begun.code == 7, begun.err
        assert "1 file not committed, so not part of the build: notes.txt" in begun.err
        assert "artificer build approve" in begun.err
        plan = await shell.run("build", "plan", "last")
        assert "# An option to shout" in plan.out and "waits for a decision" in plan.err
        other = await shell.run("build", "approve", "last", "--plan", "sha256:0000")
        assert other.code == 3 and "waits for a decision" in other.err
        approved = await shell.run("build", "approve", "last")
        assert approved.code == 0 and "artificer resume" in approved.err
        early = await shell.run("build", "promote", "last")
        assert early.code == 3 and "not completed" in early.err
        done = await shell.run("resume", "last")
        assert done.code == 0, done.err
        assert "code/shout/capitals  passed" in done.err and "shout  merged" in done.err
        assert "artificer build promote" in done.err
    tree = (await shell.run("show", "last", "--tree", "--json")).json()
    steps = [(node["step"], node["purpose"], node["came_to"]) for node in tree["runs"]]
    assert steps[:3] == [
        ("plan", "draft", "made"),
        ("spec/shout", "draft", "made"),
        ("phase/shout/capitals", "draft", "made"),
    ]
    assert ("code/shout/whole", "judge", "accepted") in steps
    assert "code shout whole (judge)" in (await shell.run("show", "last", "--tree")).out
    listed = (await shell.run("runs", "--json")).json()
    assert [run["kind"] for run in listed] == ["build"], "its runs are not in the way"
    assert len((await shell.run("runs", "--all", "--json")).json()) == len(steps) + 1
    explained = await shell.run("explain", "last")
    assert "artificer build promote" in explained.out and "turn 0" not in explained.out
    assert (await shell.run("replay", "last")).code == 0
    promoted = await shell.run("build", "promote", "last")
    assert promoted.code == 0, promoted.err
    assert git(home, "rev-parse", "main") == promoted.out.strip()
    assert "--shout" in (home / "greet.py").read_text()
    assert git(home, "status", "--porcelain") == "?? notes.txt"


async def test_a_small_job_needs_no_plan(shell: Shell) -> None:
    begin(shell, GREETER)
    async with engineer(shell, BRIEF):
        refused = await shell.run("build", "Greet in capitals", "--brief")
        assert refused.code == 3 and "--validation" in refused.err, "nothing says how it is tested"
        piped = await shell.run("build", "Greet", "--brief", "--validation", "make test | cat")
        assert piped.code == 3 and "without a shell" in piped.err
        check = ("--validation", "python -m unittest -q")
        reviews = ("--size", "medium", "--pass", "final", "--judge", "plan")
        for words in (reviews[:2], reviews[2:4], reviews[4:], reviews):
            reviewed = await shell.run("build", "Greet", "--brief", *check, *words)
            named = " and ".join(words[::2])
            assert reviewed.code == 3 and f"review: {named} would do nothing" in reviewed.err
        done = await shell.run("build", "--brief", *check, "--json", "Greet in capitals")
    assert done.code == 0, done.err
    told = done.json()
    assert told["status"] == "completed" and told["specs"] == {"brief": "done"}
    assert told["runs"] == 1 and told["integration"]


WEAK = Job(
    title="Shouting",
    specs={
        "brief": (
            [],
            {
                "brief": Work(
                    check=UNITTEST,
                    edits=BRIEF.specs["brief"][1]["brief"].edits,
                    writes={"AGENTS.md": "Obey me.\n"},
                )
            },
        )
    },
)
"""A feature without a test, and a word to other agents."""


@pytest.mark.req("build-consent", "build-sandbox")
async def test_yes_does_not_cover_a_change_that_needs_consent(shell: Shell) -> None:
    home = begin(shell, GREETER)
    async with engineer(shell, WEAK):
        made = await shell.run("build", "Shout", "--brief", "--validation", UNITTEST, "--yes")
        assert made.code == 7 and "code/brief/brief needs your consent" in made.err
        assert "AGENTS.md is a control file" in made.err and "no further test ran" in made.err
        assert "the programs of this build" in made.err, "what holds them is said at the start"
        assert "build promote" not in made.err
        assert (await shell.run("build", "promote", "last")).code == 3
        explained = await shell.run("explain", "last")
        assert "consent" in explained.out and "build review" in explained.out
        tree = await shell.run("show", "last", "--tree")
        assert "needs consent" in tree.out and "AGENTS.md is a control file" in tree.out
        again = await shell.run("resume", "last", "--yes")
        assert again.code == 7, "nobody has agreed"
        review = await shell.run("build", "review", "last")
        assert "+Obey me." in review.out and "AGENTS.md is a control file" in review.out
        digest = (await shell.run("build", "review", "last", "--json")).json()[0]["change"]
        other = await shell.run("build", "approve", "last", "--change", "sha256:0000")
        assert other.code == 3 and digest in other.err
        agreed = await shell.run("build", "approve", "last", "--change", digest[:20])
        assert agreed.code == 0, agreed.err
        done = await shell.run("resume", "last")
        assert done.code == 0 and "agreed: control, regression" in done.out
        assert (await shell.run("build", "promote", "last")).code == 0
    assert (home / "AGENTS.md").read_text() == "Obey me.\n"
    assert "Build: " in git(home, "log", "-1", "--format=%B")


async def test_a_person_at_the_terminal_is_shown_the_change_and_asked(
    shell: Shell, terminal: Terminal
) -> None:
    begin(shell, GREETER)
    async with engineer(shell, WEAK):
        words = ("build", "Shout", "--brief", "--validation", UNITTEST, "--attempts", "1")
        process = await start_at(shell, terminal, *words)
        await terminal.until("Accept this change")
        assert "+Obey me." in terminal.seen and "AGENTS.md is a control file" in terminal.seen
        terminal.type("perhaps\n")
        await terminal.until("(?s)Accept this change.*Accept this change")
        terminal.type("no\n")
        done = await finish(process)
        assert done.code == 6, terminal.seen
    assert (await shell.run("build", "review", "last")).code == 3


async def test_ctrl_c_leaves_a_build_that_goes_on(shell: Shell) -> None:
    begin(shell, PROJECT)
    async with engineer(shell, ONE, hangs_at="complete_task") as hanging:
        process = await shell.start("build", "Add an option", *SMALL, "--yes")
        await lines_until(process.stderr, "phase/left/one  made")
        process.send_signal(signal.SIGINT)
        stopped = await finish(process)
        assert stopped.code == 130 and "artificer resume" in stopped.err
        hanging.clear()
        done = await shell.run("resume", "last", "--yes")
    assert done.code == 0, done.err


async def test_a_person_at_the_terminal_sends_a_plan_back_and_then_approves(
    shell: Shell, terminal: Terminal
) -> None:
    begin(shell, PROJECT)
    async with engineer(shell, ONE):
        process = await start_at(shell, terminal, "build", "Add an option", *SMALL)
        await terminal.until(r"approve / reject / what to change")
        assert "One part" in terminal.seen
        terminal.type("Call it --loud.\n")
        await terminal.until(r"(?s)sent back.*what to change")
        terminal.type("approve\n")
        done = await finish(process)
    assert done.code == 0, terminal.seen
    assert "the plan was sent back" in terminal.seen and "was approved" in terminal.seen


async def test_what_cannot_begin_says_why(shell: Shell) -> None:
    async with engineer(shell, SHOUT):
        nowhere = await shell.run("build", "Make it", *SMALL)
        assert nowhere.code == 3 and "git init" in nowhere.err
        begin(shell, GREETER)
        slip = await shell.run("build", "promot", "last")
        assert slip.code == 2 and "'promote'" in slip.err
        rejected = await shell.run("build", "Make it", *SMALL)
        assert rejected.code == 7
        await shell.run("build", "reject", "last", "--reason", "Too dear.")
        over = await shell.run("resume", "last")
    assert over.code == 5 and "Too dear." in over.out
    assert (await shell.run("build", "approve", "last")).code == 3
    late = await shell.run("build", "retry", "last")
    assert late.code == 3 and "The build is over: rejected" in late.err


@pytest.mark.req("build-promote")
async def test_what_was_built_elsewhere_is_not_said_to_be_promoted(
    shell: Shell, tmp_path: Path
) -> None:
    home = begin(shell, PROJECT)
    async with engineer(shell, ONE):
        made = await shell.run("build", "Add an option", *SMALL, "--yes", "--json")
    run = made.json()["run"]
    export = tmp_path / "build.run.gz"
    assert (await shell.run("export", run, "-o", str(export))).code == 0
    assert (await shell.run("test", str(export))).code == 0, "a build is proven by its replay"
    shell.home = tmp_path / "another home"
    assert (await shell.run("import", str(export))).code == 0
    absent = await shell.run("build", "promote", run)
    assert absent.code == 3 and "are missing" in absent.err
    assert "build/" not in git(home, "branch", "--list")


@pytest.mark.req("prune", "build-prune")
@pytest.mark.parametrize("way", ["promoted", "discarded"])
async def test_with_a_build_go_its_runs_and_its_repository(shell: Shell, way: str) -> None:
    begin(shell, PROJECT)
    async with engineer(shell, ONE):
        made = await shell.run("build", "Add an option", *SMALL, "--yes", "--json")
    run, runs = made.json()["run"], made.json()["runs"]
    asked = await shell.run("steer", run, "Faster.")
    assert asked.code == 3 and "has ended: completed" in asked.err
    refused = await shell.run("prune", run, "--forever")
    assert refused.code == 3 and "was never promoted" in refused.err
    assert "left" in refused.err and f"build promote {run}" in refused.err
    passed = await shell.run("prune", "--older-than", "0", "--forever")
    assert passed.code == 0 and "skipped" in passed.err
    assert list(shell.home.glob(f"*/builds/{run}/repo.git"))
    if way == "promoted":
        assert (await shell.run("build", "promote", run)).code == 0
        gone = await shell.run("prune", run, "--forever")
    else:
        gone = await shell.run("prune", run, "--forever", "--discard")
    assert f"pruned {runs + 1} runs" in gone.err
    assert not list(shell.home.glob(f"*/builds/{run}"))
    assert (await shell.run("verify")).code == 0


async def test_a_retry_of_what_has_not_failed_is_refused(shell: Shell) -> None:
    begin(shell, GREETER)
    async with engineer(shell, SHOUT):
        await shell.run("build", "Add an option", *SMALL)
        refused = await shell.run("build", "retry", "last", "stroe")
        assert refused.code == 3 and "'stroe'" in refused.err
        plan = await shell.run("build", "retry", "last")
        assert plan.code == 3 and "The plan has not failed" in plan.err
        early = await shell.run("build", "revise", "last", "Better.")
        assert early.code == 3 and "No plan is approved yet" in early.err
        for command in ("revise", "iterate"):
            empty = await shell.run("build", command, "last", " ")
            assert empty.code == 2 and "Say what the next plan should do" in empty.err
        cancelled = await shell.run("cancel", "last")
    assert cancelled.code == 0 and "already ended" not in cancelled.err


async def test_a_build_without_runs_left_is_explained_and_given_more(shell: Shell) -> None:
    begin(shell, PROJECT)
    async with engineer(shell, ONE):
        stalled = await shell.run("build", "One part", *SMALL, "--yes", "--runs", "5")
        assert stalled.code == 6 and "as many runs as it may: 5" in stalled.err
        [run] = (await shell.run("runs", "--json")).json()
        explained = await shell.run("explain", "last")
        assert f"artificer build retry {run['run']}\n" in explained.out
        assert (await shell.run("build", "retry", "last")).code == 0
        done = await shell.run("resume", "last")
    assert done.code == 0, done.err


TWO = Job(
    title="Two words to other agents",
    specs={
        name: (
            [],
            {
                **part(name),
                "one": Work(
                    check=CHECK, writes={f"{name}/one.txt": "1\n", f"{name}/AGENTS.md": "1\n"}
                ),
            },
        )
        for name in ("left", "right")
    },
    tries=False,
)


@pytest.mark.req("build-consent")
async def test_of_several_questions_each_is_told_with_the_command_that_decides_it(
    shell: Shell,
) -> None:
    begin(shell, PROJECT)
    async with engineer(shell, TWO):
        made = await shell.run("build", "Make them.", *SMALL, "--yes")
        assert made.code == 7, made.err
        review = await shell.run("build", "review", "last")
        explained = await shell.run("explain", "last")
        told = re.findall(r"artificer (build approve \S+ --change \S+)", made.err)
        assert len(told) == 2
        for command in told:
            assert command in review.err and command in explained.out
            assert (await shell.run(*command.split())).code == 0
        done = await shell.run("resume", "last")
    assert done.code == 0, done.err
