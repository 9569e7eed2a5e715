"""Questions that wait for a person, and their answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from engineer_server import answering
from git_project import project
from jobs import BRIEF
from parts import ONE, PROJECT
from quick_python import quick_python
from site_of_builds import site
from strict_server import StrictServer, Turn
from studio_kit import Browser, Studio, entered, expect, fixture, http_client, serving
from test_build_consent import BRIEFLY, GREETER, TEST, UNITTEST, WORK, engineer

from artificer.agent import Agent
from artificer.artifacts.plan import Plan, SpecRef
from artificer.backends.function.decorator import tool
from artificer.builds.facts import BuildOptions, ConsentGiven, Decided, RetryRequested
from artificer.builds.state import consents_of
from artificer.config import load_config
from artificer.core.events import ApprovalAnswered, BuildAdvanced, DoubtResolved
from artificer.core.policy import Policy, Rule
from artificer.core.record import EventLine
from artificer.core.signals import AnswerCall
from artificer.errors import AmbiguousCallError, OperatorError
from artificer.events import BuildProgressed, RunEnded
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.differences import MAX_COMPARED, MAX_LINES, line_diff, patch_lines
from artificer.studio.plans import plan_version
from artificer.world import World
from test_guard import Shop

__all__ = ["quick_python"]

ASKS = Policy(rules=(Rule(tool="pay", decision="ask", reason="<b>Money</b> moves."),))
UNREAD_MS = 1_000
"""Milliseconds after which questions that have changed take an answer again."""

EVIL = "\u202eexe.gpj</pre><script>alert(1)</script>"


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


async def events(world: World, run: str) -> list[Any]:
    lines = (await world.archive.history(run)).lines
    return [line.event for line in lines if isinstance(line, EventLine)]


async def facts(world: World, run: str, kind: type) -> list[Any]:
    advanced = [event for event in await events(world, run) if isinstance(event, BuildAdvanced)]
    return [event.fact for event in advanced if isinstance(event.fact, kind)]


async def waiting(world: World, run: str = "r") -> None:
    script = [reply(call("pay", to=EVIL)), say("Paid.")]
    agent = Agent(ScriptedProvider(script), kind="chat", tools=[pay], policy=ASKS)
    await world.run("Pay <i>them</i>.", agent, run_id=run)


def form_of(text: str, kind: str) -> dict[str, str]:
    part = text.partition(f"/decisions/{kind}")[2]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', part)[:2])


async def post(client: httpx.AsyncClient, url: str, data: dict[str, str]) -> httpx.Response:
    return await client.post(url, data=data, headers={"Origin": str(client.base_url).rstrip("/")})


@pytest.mark.req("studio-decisions")
async def test_a_call_is_shown_as_it_is_and_the_answer_is_signed(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await waiting(served.world)
    for path in ("/inbox", "/runs/r"):
        text = (await client.get(path)).text
        assert "⟨U+202E⟩exe.gpj" in text and "\u202e" not in text
        assert "<script>alert" not in text and "<b>Money" not in text and "<i>them" not in text
        assert "&lt;b&gt;Money&lt;/b&gt; moves." in text
    data = {**form_of(text, "answer"), "decision": "deny", "text": "Not them."}
    assert (await post(client, "/runs/r/decisions/answer", data)).status_code == 303
    agent = Agent(ScriptedProvider([say("Then not.")]), kind="chat", tools=[pay], policy=ASKS)
    await served.left("r")  # it has tried to continue it
    await served.world.resume("r", agent)
    [found] = [e for e in await events(served.world, "r") if isinstance(e, ApprovalAnswered)]
    assert (found.approved, found.by, found.reason) == (False, "Ada", "Not them.")
    again = await post(client, "/runs/r/decisions/answer", {**data, "decision": "approve"})
    assert again.status_code == 409 and "It was denied by Ada." in again.text
    assert "Nothing waits for you." in (await client.get("/inbox")).text


@pytest.mark.req("studio-decisions")
@pytest.mark.parametrize(
    ("kind", "change", "status"),
    [
        ("answer", {"subject": "sha256:" + "1" * 64}, 409),
        ("answer", {"decision": "maybe"}, 400),
        ("answer", {"decision": ""}, 400),
        ("answer", {"text": "x" * 16_001}, 400),
        ("answer", {"form_key": "wrong"}, 403),
        ("decide", {"decision": "approve"}, 409),
        ("consent", {"decision": "approve"}, 409),
        ("resolve", {"decision": "happened"}, 409),
        ("retry", {"decision": "retry"}, 409),
        ("revise", {"decision": "revise"}, 400),
        ("revise", {"decision": "revise", "text": "More."}, 409),
        ("cancel", {}, 404),
    ],
)
async def test_what_does_not_wait_is_not_decided(
    served: Studio, client: httpx.AsyncClient, kind: str, change: dict[str, str], status: int
) -> None:
    await waiting(served.world)
    form = form_of((await client.get("/runs/r")).text, "answer")
    data = {**form, "decision": "approve", **change}
    answer = await post(client, f"/runs/r/decisions/{kind}", data)
    assert answer.status_code == status
    assert await served.world._resources.storage.signals.read("r", 0) == []


@pytest.mark.req("studio-decisions")
async def test_a_doubt_is_resolved_by_whoever_looked(
    served: Studio, client: httpx.AsyncClient
) -> None:
    shop = Shop()
    shop.hang = True
    guarded = served.world.guard(shop.tools, key="k")
    under_way = asyncio.create_task(guarded.call("charge", {"order": EVIL}))
    await shop.hanging.wait()
    await guarded.aclose()
    with pytest.raises(OperatorError, match="closed"):
        await under_way
    shop.hang = False
    async with served.world.guard(shop.tools, key="k") as guarded:
        with pytest.raises(AmbiguousCallError):
            await guarded.call("charge", {"order": EVIL})
    text = (await client.get("/runs/k")).text
    assert "Has <code>charge</code> happened?" in text and "\u27e8U+202E\u27e9exe.gpj" in text
    data = {**form_of(text, "resolve"), "decision": "happened", "text": "I saw it."}
    assert (await post(client, "/runs/k/decisions/resolve", data)).status_code == 303
    await served.left("k")
    async with served.world.guard(shop.tools, key="k") as guarded:
        await guarded.call("charge", {"order": "B"})
    [found] = [e for e in await events(served.world, "k") if isinstance(e, DoubtResolved)]
    assert (found.happened, found.by, found.reason) == (True, "Ada", "I saw it.")


@pytest.mark.req("studio-decisions")
async def test_a_change_is_agreed_to_with_its_difference_in_view(tmp_path: Path) -> None:
    home = project(tmp_path / "p", {**GREETER, "test_old.py": TEST.replace(", shout=True", "")})
    weak = engineer({**WORK, "test_old.py": ""})
    async with site(tmp_path, home, BRIEF, weak) as place, serving(place.world) as studio:
        run = await place.build("Shout", options=BRIEFLY, validation=UNITTEST)
        [job] = consents_of(run.state.build)  # type: ignore[arg-type]
        async with http_client(studio.url) as client:
            await client.get("/", params={"key": studio.key})
            text = (await client.get("/inbox")).text
            assert "test_old.py was emptied" in text and "<del>import unittest</del>" in text
            data = {**form_of(text, "consent"), "decision": "approve", "text": "It was old."}
            assert data["subject"] == job.digest
            assert (await post(client, "/runs/b/decisions/consent", data)).status_code == 303
            await studio.left("b")
        assert (await place.resume()).status == "completed"
        [given] = await facts(place.world, "b", ConsentGiven)
        assert (given.granted, given.by, given.reason) == (True, "Ada", "It was old.")


@pytest.mark.req("studio-decisions")
async def test_a_build_without_runs_left_is_given_more(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, ONE) as place, serving(place.world) as studio:
        run = await place.build(options=BuildOptions(size="small", runs=2))
        assert run.status == "stalled"
        async with http_client(studio.url) as client:
            await client.get("/", params={"key": studio.key})
            text = (await client.get("/inbox")).text
            assert "Start more runs?" in text and "as many runs as it may: 2" in text
            data = {**form_of(text, "retry"), "decision": "retry"}
            assert (await post(client, "/runs/b/decisions/retry", data)).status_code == 303
            await studio.left("b")
        [asked] = await facts(place.world, "b", RetryRequested)
        assert (asked.spec, asked.by) == ("", "Ada")


@fixture
async def built(tmp_path: Path) -> AsyncIterator[Studio]:
    """A studio whose project has a build with a plan that waits; the second one is another."""
    first, second = answering(ONE), answering(replace(ONE, title="A better part"))

    def answer(body: dict[str, Any]) -> Turn:
        return (second if "Name it better" in json.dumps(body) else first)(body)

    home = project(tmp_path / "p", PROJECT)
    async with StrictServer(answer=answer) as server:
        text = f'model = "mine/m"\n[providers.mine]\nbase_url = "{server.url}"\n'
        (tmp_path / "artificer.toml").write_text(text, "utf-8")
        config = load_config(tmp_path, home=str(tmp_path / "home"))
        async with World.open(config) as world, serving(world) as studio:
            await world.build("One.", project=home, options=BuildOptions(size="small"), run_id="b")
            yield studio


@pytest.mark.browser
@pytest.mark.req("studio-decisions", "studio-plans")
async def test_a_plan_is_sent_back_and_the_next_one_approved(
    built: Studio, page: Any, browser: Browser
) -> None:
    await entered(page, built)
    await page.get_by_role("link", name="Inbox").click()
    await expect(page.get_by_role("heading", name="One part")).to_be_visible()
    await page.get_by_role("button", name="Request another plan").click()
    await page.get_by_text("Say what the next plan should do differently.").wait_for()
    await page.goto(f"{built.url}/runs/b")
    other = await browser.new_page()
    await entered(other, built)
    await other.goto(f"{built.url}/inbox")
    await page.get_by_label("Reason, or what").fill("Name it better.")
    await page.get_by_role("button", name="Request another plan").click()
    await page.get_by_role("heading", name="A better part").wait_for()
    await expect(page.get_by_text("Version 2")).to_be_visible()
    await expect(page.get_by_text("Ada wanted: Name it better.")).to_be_visible()
    await page.get_by_text("What changed since the last version").click()
    await expect(page.locator("del")).to_have_text(["One part"])
    await expect(page.locator("ins")).to_have_text(["A better part"])
    await other.get_by_role("button", name="Approve").click()
    await other.get_by_text("It was sent back by Ada.").wait_for()
    await page.wait_for_timeout(UNREAD_MS)
    await page.get_by_role("button", name="Approve").click()
    await page.get_by_text("done", exact=True).wait_for(timeout=120_000)
    decided = await facts(built.world, "b", Decided)
    assert [(one.decision, one.by) for one in decided] == [("iterate", "Ada"), ("approve", "Ada")]
    assert (await built.world.archive.replay("b")).identical


@pytest.mark.req("studio-plans")
def test_the_first_version_of_a_plan_has_no_changes() -> None:
    plan = Plan(title="T", overview="O", specs=(SpecRef(name="a", title="A", description="D"),))
    version = plan_version(plan, [])
    assert (version.number, version.changes, dict(version.marks)) == (1, (), {})


@pytest.mark.req("studio-plans")
def test_differences_are_bounded_whatever_the_texts_are() -> None:
    a = "\n".join("ab" * (n % 7) for n in range(3 * MAX_LINES))
    b = "\n".join("ba" * (n % 5) for n in range(3 * MAX_LINES))
    found = line_diff(a, b)
    assert len(found) <= 2 * MAX_LINES + 10 and found[-1].kind == "note"
    assert line_diff(a, a) == (found[-1],)
    assert line_diff("x", "x") == ()
    few = "\n".join(map(str, range(MAX_COMPARED)))
    changed = line_diff(few, few.replace("200", "two hundred"))
    assert [line.text for line in changed if line.kind == "removed"] == ["200"]
    assert len(changed) == 8
    assert len(patch_lines("+x\n" * 3 * MAX_LINES)) == MAX_LINES + 1
    assert patch_lines("--- a\n-b\n+c\n d") == (
        ("place", "--- a"),
        ("removed", "b"),
        ("added", "c"),
        ("same", "d"),
    )


@pytest.mark.req("events-build")
async def test_who_follows_a_build_learns_of_its_jobs_until_it_waits(built: Studio) -> None:
    found = [event async for event in built.world.events("b")]
    words = [event.what for event in found if isinstance(event, BuildProgressed)]
    assert words[:2] == ["StartRun", "RunReturned"] and words[-1] == "AskDecision"
    assert isinstance(found[-1], RunEnded) and found[-1].status == "waiting"


@pytest.mark.browser
@pytest.mark.req("studio-hostile")
async def test_a_question_that_moves_takes_neither_the_focus_nor_the_click_of_another_one(
    served: Studio, page: Any
) -> None:
    model = ScriptedProvider([reply(call("pay", to="Ada"), call("pay", to="Eve")), say("Paid.")])
    agent = Agent(model, kind="chat", tools=[pay], policy=ASKS)
    run = await served.world.run("Pay.", agent)
    first, second = run.questions
    await entered(page, served)
    await page.goto(f"{served.url}/runs/{run.id}")
    await page.get_by_role("button", name="Deny").nth(1).focus()
    clicked = """new Promise((done) => new MutationObserver((_, observer) => {
        const left = document.querySelectorAll('#questions article');
        if (left.length > 1) return;
        observer.disconnect();
        document.querySelector('#questions [value=approve]').click();
        done(left.length);
    }).observe(document.getElementById('run'), {childList: true, subtree: true}))"""
    waiting = asyncio.create_task(page.evaluate(clicked))
    await asyncio.sleep(0)
    await served.world.send(run.id, AnswerCall(by="Bob", call=first.digest, approved=False))
    await served.world.resume(run.id, agent)
    assert await waiting == 1
    await expect(page.locator("#notice")).to_contain_text("Nothing was sent")
    await expect(page.get_by_role("button", name="Deny")).to_be_focused()
    (left,) = (await served.world.get(run.id)).questions
    assert left.digest == second.digest
    await page.wait_for_timeout(UNREAD_MS)
    async with page.expect_request(f"**/runs/{run.id}/decisions/answer") as sent:
        await page.get_by_role("button", name="Deny").press("Enter")
    form = parse_qs((await sent.value).post_data)
    assert (form["decision"], form["subject"]) == (["deny"], [second.digest])
