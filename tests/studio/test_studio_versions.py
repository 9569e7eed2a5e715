"""The versions of a report and its artifacts, and their pages."""

from __future__ import annotations

import html
import re
from typing import Any

import httpx
import pytest
from revised import EVIL, revised
from studio_kit import Studio

from artificer import Agent
from artificer.core.signals import FollowUp
from artificer.errors import TamperedError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.versions import chosen_version, read_version, versions
from artificer.studio.views.reports import fates_of
from artificer.values.model import ModelFailure

pytestmark = pytest.mark.req("studio-versions")


async def test_a_follow_up_makes_versions_that_name_who_wanted_them(served: Studio) -> None:
    await revised(served.world)
    history = await served.world.archive.history("r")
    found = versions(history.lines, history.data)
    first, second = found.reports
    assert (first.turn, first.status, first.cause.what) == (2, "completed", "the prompt")
    assert (second.turn, second.cause.what, second.cause.by) == (4, "a follow-up", "Ada")
    assert first.narrative.endswith("The end.") and second.narrative.endswith("A new one.")
    assert len(first.artifacts) == 6 and len(second.artifacts) == 5
    one, other = found.of("table:cities")
    assert (one.number, one.turn, other.number, other.turn) == (1, 1, 2, 3)
    assert read_version(history, one).rows[0]["People"] == 2_873_000
    assert read_version(history, other).rows[0]["People"] == 2_873_494
    assert [version.ref is None for version in found.of("list:names")] == [False, True]
    assert chosen_version(found.of("list:names"), "").number == 1
    assert len(found.of("checklist:todo")) == 1 and found.of("table:other") == []
    assert history.at(one.last).state.turn < history.run.state.turn
    assert history.at(10**9) is history.run


async def test_a_checklist_is_shown_with_the_ticks_of_its_time(served: Studio) -> None:
    await revised(served.world)
    await served.world.checklists.tick("r", "todo", "a", by="Ada")
    history = await served.world.archive.history("r")
    (version,) = versions(history.lines, history.data).of("checklist:todo")
    items = read_version(history, version).payload["checklist"]
    assert isinstance(items, dict) and "true" in str(items["items"]).lower()


async def test_a_report_that_is_sent_back_is_a_version_of_its_own(served: Studio) -> None:
    lost = "# A\n\n{{artifact:table:x}}\n\nThe rest of it."
    cells = {"kind": "table", "id": "x", "columns": ["a"], "rows": [[1]]}
    script = [say(lost), reply(call("create_table", table=cells)), say("Done.")]
    agent = Agent(ScriptedProvider([*script, say("Only a word.")]))
    run = await served.world.run("Go.", agent, run_id="r")
    assert run.status == "completed"
    await served.world.send("r", FollowUp(by="Grace", text="Thanks!"))
    await served.world.resume("r", agent)
    history = await served.world.archive.history("r")
    found = versions(history.lines, history.data)
    assert found.of("table:x")[0].cause.what == "a reply that was sent back"
    assert [(v.narrative, v.status) for v in found.reports] == [(lost, ""), (lost, "completed")][
        -len(found.reports) :
    ]


async def test_what_came_over_with_a_handoff_has_versions_too(
    served: Studio, client: httpx.AsyncClient
) -> None:
    script: list[Any] = []
    for tea in ("green tea", "black tea"):
        made = {"kind": "list", "id": "t", "items": [tea]}
        report = f"# Prices\n\nThis is {tea}.\n\n{{{{artifact:list:t}}}}"
        script += [reply(call("create_list", list=made)), say(report)]
    billing = Agent(ScriptedProvider(script), kind="deliver")
    asks = [reply(call("transfer_to_billing", prompt=text)) for text in ("Prices?", "And now?")]
    tools = [billing.as_handoff("billing", "Money.")]
    front = Agent(ScriptedProvider(asks), kind="deliver", tools=tools)
    await front.run("Prices?", world=served.world, run_id="r")
    await front.follow_up("r", "And now?", world=served.world)
    assert (await client.get("/runs/r/artifacts")).text.count("2 versions") == 2
    old = (await client.get("/runs/r/artifacts/list:t?version=1")).text
    assert "green tea" in old and "black tea" not in old
    report = (await client.get("/runs/r/artifacts/report/changes")).text
    (link,) = re.findall(r'href="(/runs/r/artifacts/list[^"]*/changes[^"]*)"', report)
    compared = (await client.get(html.unescape(link))).text
    assert "green" in compared and "black" in compared
    history = await served.world.archive.history("r")
    one, other = versions(history.lines, history.data).reports
    (fate,) = fates_of("r", one, other, {})
    assert (fate.word, fate.link) == ("changed", "/runs/r/artifacts/list%3At"), "it is not known"


async def test_pages_show_each_version_and_what_changed(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await revised(served.world)
    listed = (await client.get("/runs/r/artifacts")).text
    assert listed.count("2 versions") == 5 and "withdrawn" in listed
    old = (await client.get("/runs/r/artifacts/table:cities?version=1")).text
    assert "2,873,000" in old and "older version" in old and "by Ada" in old
    changed = (await client.get("/runs/r/artifacts/table:cities/changes")).text
    for part in ("<del>2,873,000</del>", "<ins>2,873,494</ins>", "<ins>Paris</ins>"):
        assert part in changed
    assert "<del>Łódź</del>" in changed and "2 rows are the same" in changed
    report = (await client.get("/runs/r/artifacts/report/changes")).text
    assert "<ins>very </ins>" in report and "/artifacts/table%3Acities/changes?a=1" in report
    assert "<script>alert" not in listed + old + changed + report
    assert EVIL[0] not in listed + old + changed + report
    frame = await client.get("/runs/r/report/25")
    assert "The end." in frame.text and "sandbox" in frame.headers["content-security-policy"]
    file = (await client.get("/runs/r/artifacts/file:notes%2Fa.md/changes")).text
    assert "<del>second</del>" in file and "<ins>third</ins>" in file
    svg = (await client.get("/runs/r/artifacts/svg:map/changes")).text
    assert svg.count('src="data:image/svg+xml;base64,') == 2
    same = (await client.get("/runs/r/artifacts/chart:people/changes?a=2&b=2")).text
    ids = re.findall(r' id="([^"]+)"', same)
    assert "Both versions are the same." in same and len(ids) == len(set(ids))
    gone = (await client.get("/runs/r/artifacts/list:names")).text
    assert "It was withdrawn from the report." in gone and "json?version=1" in gone
    saved = await client.get("/runs/r/artifacts/table:cities/csv?version=1")
    assert "2873000" in saved.text
    for path in (
        "table:cities?version=3",
        "table:cities?version=x",
        "table:other",
        "list:names/changes?b=2",
        "table:cities/changes?a=9",
        "report?version=9",
        "report/changes?a=x",
        "%00",
        "table:cities/exe",
    ):
        assert (await client.get(f"/runs/r/artifacts/{path}")).status_code == 404, path
    for seq in ("0", "x", "9" * 5_000):
        assert (await client.get(f"/runs/r/report/{seq}")).status_code == 200


async def test_a_record_leads_to_the_version_that_it_made(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await revised(served.world)
    history = await served.world.archive.history("r")
    found = versions(history.lines, history.data)
    newest = found.of("table:cities")[1]
    record = (await client.get(f"/runs/r/records/{newest.seq}")).text
    assert 'artifacts/table%3Acities?version=2">version 2 of' in record
    assert f'href="/runs/r/report/{newest.seq}"' in record
    gone = found.of("list:names")[1]
    assert "It withdrew <a " in (await client.get(f"/runs/r/records/{gone.seq}")).text
    for kind in ("chart:people", "file:notes/a.md", "checklist:todo"):
        assert (await client.get(f"/runs/r/sources/{kind}")).status_code == 200


async def test_versions_outlive_a_damaged_report(served: Studio) -> None:
    await revised(served.world)
    history = await served.world.archive.history("r")

    def read(digest: str) -> bytes:
        raise TamperedError(f"{digest} is damaged.")

    found = versions(history.lines, read)
    assert [version.status for version in found.reports] == ["completed", "completed"]
    assert found.reports[1].cause.by == "Ada" and len(found.of("table:cities")) == 2


async def test_a_chart_of_hostile_words_is_text_in_the_page(
    served: Studio, client: httpx.AsyncClient
) -> None:
    words = f"</title></svg><script>alert(1)</script><img src=x onerror=alert(2)>{EVIL}"
    series = [{"name": n, "values": [1, 2]} for n in (words[:60], "b")]
    fields = {"id": "c", "title": words[:80], "labels": [words, "x"], "series": series}
    first = call("create_bar_chart", **fields, unit="<b>")
    second = call("create_bar_chart", **fields, unit="<i>", replace=True)
    text = "{{artifact:chart:c}}"
    agent = Agent(ScriptedProvider([reply(first), say(text), reply(second), say(text)]))
    run = await served.world.run("Go.", agent, run_id="r")
    assert run.status == "completed", run.state.findings
    await served.world.send("r", FollowUp(by=words, text=words))
    await served.world.resume("r", agent)
    for path in ("artifacts/chart:c", "artifacts/chart:c/changes", "artifacts", "records/10"):
        shown = (await client.get(f"/runs/r/{path}")).text
        assert "<script>alert" not in shown and "<img src=x" not in shown


async def test_a_run_without_a_report_says_so(served: Studio, client: httpx.AsyncClient) -> None:
    model = ScriptedProvider([ModelFailure(code="overloaded", message="Later.")])
    await served.world.run("Go.", Agent(model), run_id="r")
    assert "has made no artifacts" in (await client.get("/runs/r/artifacts")).text
    assert (await client.get("/runs/r/artifacts/report")).status_code == 200
