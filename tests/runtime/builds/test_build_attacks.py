"""Builds in which things go wrong as they did elsewhere, and what becomes of them.

Real git, real runs, real commands; the model does what models have done.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engineer import Engineer, Job, Work, _own
from git_project import content, files_of, git, project
from parts import CHECK, ONE, PAIR, PARTS, PROJECT, part
from site_of_builds import Site, site

from artificer.builds.facts import BuildOptions
from artificer.builds.state import BuildState
from artificer.core.signals import Retry
from artificer.providers.scripted import ScriptedReply, call, reply, say
from artificer.runs import Run
from artificer.values.base import JsonObject

pytestmark = pytest.mark.req("build-attacks")

SMALL = BuildOptions(size="small", parallel=2)


def prompt_of(body: Any) -> str:
    return str(body["messages"][0]["blocks"][0]["text"])


def place_of(body: Any) -> tuple[str, str]:
    """Spec and phase of a code run."""
    prompt = prompt_of(body)
    return _own(prompt, "The spec in the plan"), _own(prompt, "The phase")


def turn_of(body: Any) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


def turns(body: Any, *answers: ScriptedReply) -> ScriptedReply:
    """The answer of this turn; at the end, a short sentence."""
    turn = turn_of(body)
    return answers[turn] if turn < len(answers) else say("Done.")


def told(body: Any) -> str:
    """Return the part of an attempt's prompt about earlier attempts."""
    return prompt_of(body).partition("# What the validators said")[2]


DONE = call("complete_task", summary="Done.", nothing_to_do=False)
NOTHING = call("complete_task", summary="It is there.", nothing_to_do=True)


def built(run: Run) -> BuildState:
    assert run.state.build is not None
    return run.state.build


def tree(place: Site) -> tuple[Path, str]:
    """The build's repository, and where its integration branch is."""
    repository = place.world.config.project_folder / "builds/b/repo.git"
    return repository, git(repository, "rev-parse", "refs/build/integration")


async def replays(place: Site) -> None:
    for run in await place.world.archive.runs():
        assert (await place.world.archive.replay(run, model=place.model)).identical


EVIL = """\
test:
\t@ln -s /etc left/passwords.txt
\t@mkdir -p .git/hooks && echo 'touch owned' > .git/hooks/pre-commit
\t@head -c 6000000 /dev/zero > left/huge.txt
\t@git init -q left/inner && touch left/inner/file.txt
\t@echo broken > left/three.txt
"""


SCOPE = {f"left/{name}": "" for name in ("three.txt", "passwords.txt", "huge.txt", "inner/a.txt")}
LEFT = part("left")
HOSTILE = Job(
    title="Attacks",
    specs={"left": ([], {**LEFT, "three": Work(check=CHECK, writes=SCOPE)})},
)


def hostile(phase: str, body: JsonObject) -> ScriptedReply:
    """The first attempt at each phase."""
    if phase == "one":  # it claims that nothing had to be done
        return turns(body, reply(NOTHING))
    if phase == "two":  # more than the phase names, and not what passes
        wrong = call("host.write", path="left/two.txt", text="broken\n")
        stray = call("host.write", path="stray.txt", text="stray\n")
        return turns(body, reply(wrong, stray), reply(DONE))
    hook = call("host.write", path=".git/hooks/post-commit", text="touch owned\n")
    out = call("host.write", path="../../escape.txt", text="out\n")
    evil = call("host.write", path="Makefile", text=EVIL)
    looked = reply(hook, out, call("host.read", path="Makefile"))
    return turns(body, looked, reply(evil), reply(call("run_validation")), reply(DONE))


async def test_false_claims_stray_files_and_refused_ones_reach_the_next_attempt(
    tmp_path: Path,
) -> None:
    home = project(tmp_path / "p", PROJECT)
    heard: dict[str, list[str]] = {"one": [], "two": [], "three": []}
    unmet = [{"criterion": n, "met": False, "evidence": "There is no file one."} for n in (1, 2)]
    rejects = call("submit_verdict", verdict="reject", criteria=unmet, problems=["It is not done."])
    mended = call("host.write", path="left/three.txt", text="three\n")

    def inspect(kind: str, body: JsonObject) -> ScriptedReply | None:
        if kind == "judge":
            return turns(body, reply(rejects))
        if kind != "code":
            return None
        _, phase = place_of(body)
        if turn_of(body) == 0:
            heard[phase].append(told(body))
        if not told(body):
            return hostile(phase, body)
        return turns(body, reply(mended), reply(DONE)) if phase == "three" else None

    async with site(tmp_path, home, HOSTILE, inspect) as place:
        run = await place.build(options=SMALL)
        assert run.status == "completed", run.text
        assert [len(heard[phase]) for phase in heard] == [2, 2, 2]
        assert "There is no file one." in heard["one"][1]
        assert "Left out" in heard["two"][1] and "stray.txt" in heard["two"][1]
        for reason in ("leads out of the project", "6000000 bytes", "left/inner/", "Makefile"):
            assert reason in heard["three"][1]
        repository, commit = tree(place)
        own = ["left/one.txt", "left/three.txt", "left/two.txt"]
        assert files_of(repository, commit) == ["Makefile", "README.md", *own]
        assert content(repository, commit, "Makefile").strip() == PROJECT["Makefile"].strip()
        assert not list(place.world.config.project_folder.rglob("escape.txt"))
        await replays(place)


async def test_what_never_passes_blocks_what_needs_it_and_nothing_else(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    broken = replace(PARTS, specs={**PARTS.specs, "base": ([], part("base", two="broken\n"))})
    heard: list[str] = []

    def inspect(kind: str, body: JsonObject) -> ScriptedReply | None:
        if kind == "code" and turn_of(body) == 0 and place_of(body) == ("base", "two"):
            heard.append(told(body))
        return None

    async with site(tmp_path, home, broken, inspect) as place:
        run = await place.build(options=SMALL)
        assert run.status == "stalled" and run.reason is None
        build = built(run)
        base, left, right = (build.spec(name) for name in ("base", "left", "right"))
        assert base and left and right
        assert base.status == "failed" and "the same failure came 3 times" in base.reason
        assert left.status == "blocked" and "depends on base, which failed" in left.reason
        assert right.status == "done" and build.merged == ("right",)
        assert "base failed: code/base/two" in build.stalled
        assert len(heard) == 3 and heard[0] == ""
        assert all("two.txt" in text and "exit code 2" in text for text in heard[1:])
        run = await place.resume()
        assert run.status == "stalled" and len(heard) == 3, "nobody has asked for more"
        before = set(await place.children())
    async with site(tmp_path, home, PARTS) as place:  # somebody mends it, and says so
        await place.world.send("b", Retry(spec="base", hint="Say base.", by="ada"))
        run = await place.resume()
        assert run.status == "completed", run.text
        assert built(run).merged[0] == "right" and before < set(await place.children())
        assert any("Say base." in prompt_of(body) for body in place.model.requests)
        await replays(place)


SHARED = {
    name: ([], {**part(name), "one": Work(check=CHECK, writes={"shared.txt": f"{name}\n"})})
    for name in ("left", "right")
}


@pytest.mark.parametrize("merges", [1, 2])
async def test_two_that_write_the_same_are_merged_by_another_attempt_or_fail(
    tmp_path: Path, merges: int
) -> None:
    home = project(tmp_path / "p", PROJECT)
    needs = Job(
        title="Needs", specs={**SHARED, "last": (["left", "right"], part("last"))}, tries=False
    )
    heard: list[str] = []

    def inspect(kind: str, body: JsonObject) -> ScriptedReply | None:
        if kind != "code" or "conflicts in" not in told(body):
            return None
        spec, phase = place_of(body)
        if turn_of(body) == 0:
            heard.append(told(body))
        path = "shared.txt" if phase == "one" else f"{spec}/{phase}.txt"
        write = call("host.write", path=path, text="left\nright\n")
        read = call("host.read", path="shared.txt")
        return turns(body, reply(read), reply(write), reply(DONE))

    async with site(tmp_path, home, needs, inspect) as place:
        # What is coded again on top of the other brings no further test: that was agreed to.
        options = BuildOptions(size="small", merges=merges, agreed=("regression",))
        run = await place.build(options=options)
        build = built(run)
        if merges == 2:
            assert run.status == "completed", run.text
            assert content(*tree(place), "shared.txt") == "left\nright"
            assert len(heard) == 3 and "shared.txt" in heard[0]
            assert set(build.merged) == {"left", "right", "last"}
        else:
            assert run.status == "stalled", run.text
            (failed,) = [spec for spec in build.specs if spec.status == "failed"]
            assert "its merge was refused" in failed.reason and "shared.txt" in failed.reason
            last = build.spec("last")
            assert last and last.status == "blocked" and failed.name in last.reason
            assert len(build.merged) == 1 and failed.name in build.stalled
        await replays(place)


async def test_runs_that_never_finish_are_attempts_and_end(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)

    def inspect(kind: str, body: JsonObject) -> ScriptedReply | None:
        if kind == "judge":
            return say("It looks fine to me.")
        if kind == "spec" and turn_of(body) == 0:  # not its tool
            return reply(call("create_plan", title="Mine", overview="No.", specs=[]))
        if kind == "spec":
            return Engineer(PAIR)._spec(turn_of(body) - 1, prompt_of(body), _offered(body))
        if kind == "code" and place_of(body)[0] == "right":
            return say("I have done it.")
        return None

    async with site(tmp_path, home, PAIR, inspect) as place:
        run = await place.build(options=BuildOptions(size="small", attempts=2))
        build = built(run)
        right, left = build.spec("right"), build.spec("left")
        assert run.status == "stalled" and right and left
        assert right.status == "failed" and "2 attempts failed" in right.reason
        one = right.phases[0].coding
        assert one.number == 2 and all("complete_task" in report for report in one.reports)
        assert left.status == "done"
        unknown = [b for b in place.model.requests if '"unknown_tool"' in json.dumps(b)]
        assert unknown, "a plan is not a spec run's to make"
        await replays(place)


@pytest.mark.req("stuck-default")
async def test_a_run_that_repeats_itself_ends_its_attempt_early(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    asked: list[JsonObject] = []

    def inspect(kind: str, body: JsonObject) -> ScriptedReply | None:
        if kind != "code":
            return None
        asked.append(body)
        return reply(call("host.list"))

    async with site(tmp_path, home, ONE, inspect) as place:
        options = BuildOptions(size="small", attempts=2, parallel=1)
        build = built(await place.build(options=options))
        reports = [p.coding.reports for s in build.specs for p in s.phases if p.coding.number]
        assert reports and all("(stuck)" in report for told in reports for report in told)
        attempts = sum(len(told) for told in reports)
        assert len(asked) == 6 * attempts, "not eighty turns each"
        assert "You have made the same calls 3 times" in json.dumps(asked[3])
        await replays(place)


async def test_a_judge_without_a_verdict_has_accepted_nothing(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    silent = True

    def inspect(kind: str, body: JsonObject) -> ScriptedReply | None:
        return say("It looks fine to me.") if kind == "judge" and silent else None

    async with site(tmp_path, home, ONE, inspect) as place:
        run = await place.build(options=BuildOptions(size="small", judge=("plan",)))
        build = built(run)
        assert run.status == "stalled" and build.plan is None and build.proposal is None
        assert "no verdict" in build.planning.reports[-1]
        assert "there is no plan" in build.stalled
        silent = False
        await place.world.send("b", Retry(by="ada"))
        run = await place.resume()
        assert run.status == "completed", run.text
        await replays(place)


def _offered(body: Any) -> dict[str, Any]:
    return {tool["name"]: tool for tool in body["tools"]}
