"""Builds that would be green without the work, and what a person has to agree to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engineer import UNITTEST
from git_project import content, files_of, git, project
from jobs import BRIEF, GREETER, SHOUT
from site_of_builds import Site, site
from test_build_attacks import DONE, built, place_of, prompt_of, told, tree, turn_of, turns

from artificer.builds.facts import BuildOptions, Checked
from artificer.builds.jobs import AskConsent
from artificer.builds.state import consents_of
from artificer.core.events import BuildAdvanced
from artificer.core.record import EventLine
from artificer.core.signals import Consent
from artificer.providers.scripted import ScriptedReply, call, reply
from artificer.runs import Run
from artificer.values.base import JsonObject

BRIEFLY = BuildOptions(size="brief", attempts=2)
MADE = SHOUT.specs["shout"][1]["capitals"]
SHOUTS = MADE.writes["test_shout.py"]


def writes(body: JsonObject, files: dict[str, str]) -> ScriptedReply:
    """Read what is there, write these files, and say that it is done."""
    reads = [call("host.read", path=path) for path in files] or [call("host.list")]
    made = [call("host.write", path=path, text=text) for path, text in files.items()]
    return turns(body, reply(*reads), reply(*(made or [call("host.list")])), reply(DONE))


def engineer(*attempts: dict[str, str]) -> Any:
    """An engineer whose attempts write these files, the last one again and again."""

    def inspect(kind: str, body: JsonObject) -> ScriptedReply | None:
        if kind != "code":
            return None
        number = min(told(body).count("```text"), len(attempts) - 1)
        return writes(body, attempts[number])

    return inspect


async def brief(place: Site, check: str = UNITTEST, **options: Any) -> Run:
    return await place.build("Shout", options=BRIEFLY, validation=check, **options)


def question(run: Run) -> AskConsent:
    assert run.status == "waiting", run.text
    (wish,) = consents_of(built(run))
    return wish


def kinds(wish: AskConsent) -> list[str]:
    return [concern.kind for concern in wish.checked.concerns]


async def answer(place: Site, wish: AskConsent, *, granted: bool, reason: str = "") -> Run:
    said = Consent(change=wish.digest, granted=granted, by="ada", reason=reason)
    await place.world.send("b", said)
    return await place.resume()


async def checks(place: Site) -> list[Checked]:
    lines = (await place.world.archive.history("b")).lines
    events = [line.event for line in lines if isinstance(line, EventLine)]
    facts = [event.fact for event in events if isinstance(event, BuildAdvanced)]
    return [fact for fact in facts if isinstance(fact, Checked)]


async def replays(place: Site) -> None:
    assert (await place.world.archive.replay("b", model=place.model)).identical


FEATURE = GREETER["greet.py"].replace(
    'def greeting(name):\n    return f"Hello, {name}!"\n',
    'def greeting(name, shout=False):\n    said = f"Hello, {name}!"\n'
    "    return said.upper() if shout else said\n",
)
TEST = """\
import unittest

from greet import greeting


class ShoutTest(unittest.TestCase):
    def test_in_capitals(self):
        self.assertEqual(greeting("Ada", shout=True), "HELLO, ADA!")
"""
WORK = {"greet.py": FEATURE, "test_shout.py": TEST}


@pytest.mark.req("build-evidence")
async def test_emptied_tests_without_the_work_are_not_green(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    async with site(tmp_path, home, BRIEF, engineer({"test_greet.py": "\n"})) as place:
        run = await brief(place)
        assert run.status == "stalled" and not built(run).merged
        reports = built(run).specs[0].phases[0].coding.reports
        assert "No test ran" in reports[0] and "emptied" not in run.text
        await replays(place)


@pytest.mark.req("build-weakened-tests", "build-consent")
async def test_a_deleted_test_is_put_to_a_person_who_may_agree(tmp_path: Path) -> None:
    home = project(tmp_path / "p", {**GREETER, "test_old.py": TEST.replace(", shout=True", "")})
    weak = {**WORK, "test_old.py": ""}
    async with site(tmp_path, home, BRIEF, engineer(weak)) as place:
        run = await brief(place)
        wish = question(run)
        assert "tests" in kinds(wish) and "test_old.py was emptied" in run.text + str(wish.checked)
        assert not built(run).merged
        explained = await place.world.archive.explain("b")
        assert "consent" in explained.why and "artificer build review b" in explained.next
        wrong = Consent(change="sha256:" + "1" * 64, granted=True)
        await place.world.send("b", wrong)
        assert (await place.resume()).status == "waiting", "another change was agreed to"
        run = await answer(place, wish, granted=True)
        assert run.status == "completed", run.text
        assert "ada agreed: tests" in run.text
        await replays(place)
        assert (await place.world.archive.verify()).problems == [], (
            "its signals are what was posted"
        )


@pytest.mark.req("build-consent", "build-weakened-tests")
async def test_a_change_that_is_rejected_is_an_attempt_that_is_told_why(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    skips = TEST.replace("    def", "    @unittest.skip('later')\n    def")
    inspect = engineer({**WORK, "test_greet.py": skips}, WORK)
    async with site(tmp_path, home, BRIEF, inspect) as place:
        wish = question(await brief(place))
        run = await answer(place, wish, granted=False, reason="Never skip.")
        assert run.status == "completed", run.text
        heard = [told(body) for body in place.model.requests if turn_of(body) == 0]
        assert "ada did not agree to this change: Never skip." in heard[1]
        assert "test_greet.py skips or narrows tests" in heard[1]
        assert "skip" not in content(*tree(place), "test_greet.py")
        await replays(place)


@pytest.mark.req("build-last-word", "build-consent")
async def test_the_last_word_about_a_change_counts(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    async with site(tmp_path, home, BRIEF, engineer({**WORK, **CONTROL}, WORK)) as place:
        wish = question(await brief(place))
        await place.world.send("b", Consent(change=wish.digest, granted=True, by="ada"))
        run = await answer(place, wish, granted=False, reason="On second thought.")
        assert run.status == "completed", run.text
        assert not set(files_of(*tree(place))) & set(CONTROL)
        assert (await place.world.archive.verify()).problems == []
        await replays(place)


@pytest.mark.req("build-rewritten-check", "build-consent")
async def test_a_check_that_is_rewritten_is_put_to_a_person(tmp_path: Path) -> None:
    real = "test:\n\t@python -m unittest -q\n"
    home = project(tmp_path / "p", {**GREETER, "Makefile": real})
    async with site(tmp_path, home, BRIEF, engineer({"Makefile": "test:\n\ttrue\n"})) as place:
        run = await brief(place, "make test")
        wish = question(run)
        assert kinds(wish) == ["check", "regression"]
        assert "Makefile says what the check does" in str(wish.checked.concerns)
        diff = await place.world.builds.diff("b", wish.check.commit, wish.checked.commit)
        assert "-\t@python -m unittest -q" in diff and "+\ttrue" in diff
        await replays(place)


CONTROL = {
    "AGENTS.md": "Obey.\n",
    "conftest.py": "x = 1\n",
    ".github/workflows/ci.yml": "on: push\n",
    "artificer.toml": "[sandbox]\nmode = 'off'\n",
    "sub/.Envrc": "x\n",
}


@pytest.mark.req("build-control-files", "build-consent")
@pytest.mark.parametrize("granted", [True, False])
async def test_control_files_change_only_with_consent(tmp_path: Path, granted: bool) -> None:
    home = project(tmp_path / "p", GREETER)
    inspect = engineer({**WORK, **CONTROL}, WORK)
    async with site(tmp_path, home, BRIEF, inspect) as place:
        wish = question(await brief(place))
        said = " ".join(concern.text for concern in wish.checked.concerns)
        assert kinds(wish) == ["control"] * len(CONTROL) and all(path in said for path in CONTROL)
        run = await answer(place, wish, granted=granted)
        assert run.status == "completed", run.text
        found = set(files_of(*tree(place)))
        assert found & set(CONTROL) == (set(CONTROL) if granted else set())
        await replays(place)


@pytest.mark.req("build-evidence", "build-consent")
@pytest.mark.parametrize("agreed", [True, False])
async def test_a_check_that_passed_before_proves_nothing_by_itself(
    tmp_path: Path, agreed: bool
) -> None:
    home = project(tmp_path / "p", GREETER)
    options = BuildOptions(size="brief", agreed=("regression",) if agreed else ())
    async with site(tmp_path, home, BRIEF, engineer({"greet.py": FEATURE})) as place:
        run = await place.build("Shout", options=options, validation=UNITTEST)
        (checked,) = await checks(place)
        assert (checked.passed_before, checked.tests_before, checked.tests) == (True, 1, 1)
        if agreed:
            assert run.status == "completed" and "agreed in advance: regression" in run.text
        else:
            assert kinds(question(run)) == ["regression"]
            assert "1 before, 1 after" in question(run).checked.concerns[0].text
        await replays(place)


BROKEN = TEST.replace("ShoutTest", "OldTest").replace(', shout=True), "HELLO', '), "HALLO')


@pytest.mark.req("build-old-failures")
async def test_a_test_that_failed_before_costs_no_attempt(tmp_path: Path) -> None:
    home = project(tmp_path / "p", {**GREETER, "test_old.py": BROKEN})
    async with site(tmp_path, home, BRIEF, engineer(WORK)) as place:
        run = await brief(place)
        wish = question(run)
        assert kinds(wish) == ["old_failure"] and "OldTest" in wish.checked.concerns[0].text
        assert built(run).specs[0].phases[0].coding.failures == 0
        prompt = str(place.model.requests[0])
        assert "says before you begin" in prompt and "HALLO" in prompt
        run = await answer(place, wish, granted=True)
        assert run.status == "completed", "the merge is not refused for it either"
        await replays(place)


@pytest.mark.req("build-left-out")
async def test_an_attempt_that_changed_nothing_did_not_pass(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    async with site(tmp_path, home, BRIEF, engineer({})) as place:
        run = await brief(place)
        assert run.status == "stalled"
        assert all(not fact.passed for fact in await checks(place))
        nodes = await place.world.archive.tree("b")
        assert [node.checked for node in nodes] == ["nothing was changed"] * 2
        assert "Nothing was changed" in nodes[0].detail
        assert "Nothing was changed" in (await place.world.archive.explain("b")).why


@pytest.mark.req("build-left-out")
async def test_what_is_left_out_is_shown_and_told_to_the_next_phase(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    looked = reply(
        call("host.read", path="greet.py"), call("host.write", path="stray.txt", text="x")
    )

    def inspect(kind: str, body: JsonObject) -> ScriptedReply | None:
        if kind == "code" and turn_of(body) == 0 and place_of(body)[1] == "capitals":
            return looked
        return None

    async with site(tmp_path, home, SHOUT, inspect) as place:
        run = await place.build("Shout")
        assert run.status == "completed", run.text
        assert (await checks(place))[0].outside == ("stray.txt",)
        assert "left out, not in its scope: stray.txt" in run.text
        later = [prompt_of(b) for b in place.model.requests if "complete_task" in str(b["tools"])]
        told_so = ["was left out" in text and "stray.txt" in text for text in later]
        assert not told_so[0] and told_so[-1]
        await replays(place)


@pytest.mark.req("build-scope")
async def test_a_commit_says_what_was_done_and_by_which_build(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    async with site(tmp_path, home, BRIEF, engineer(WORK)) as place:
        assert (await brief(place)).status == "completed"
        message = git(tree(place)[0], "log", "-1", "--format=%B", tree(place)[1])
        assert message.split("\n\n") == ["Shout", "Done.", "Build: b\nStep: code/brief/brief"]
