"""The API begins and continues runs with all that a form can choose, and looks back."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_double import Double, chunk
from revised import revised
from studio_kit import Studio, http_client, serving

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import load_config
from artificer.core.policy import Policy, Rule
from artificer.studio.exports import MAX_WAITING
from artificer.studio.tokens import ApiTokens, TokenScope
from artificer.world import World

pytestmark = pytest.mark.req("studio-api")

TABLE = {"kind": "table", "id": "t", "columns": ["a"], "rows": [["1"], ["2"]]}


@tool(effect="pure")
def double_it(number: int) -> int:
    """Double a number."""
    return number * 2


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def called(name: str, arguments: Any) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [chunk("tool_calls", tool_calls=[{"index": 0, "id": "c", "function": function}])]


@asynccontextmanager
async def project(
    folder: Path, url: str, **agents: Agent
) -> AsyncIterator[tuple[Studio, httpx.AsyncClient]]:
    text = f'model = "mine/m"\n[providers.mine]\nbase_url = "{url}"\n'
    (folder / "artificer.toml").write_text(text, "utf-8")
    tokens, scopes = ApiTokens(folder, lambda: 0), tuple[TokenScope, ...](("admin",))
    headers = {"Authorization": f"Bearer {tokens.new('ci', scopes, 1)[1]}"}
    config = load_config(folder, home=str(folder / "home"))
    async with (
        World.open(config) as world,
        serving(world, tokens=tokens, agents=agents) as studio,
        http_client(f"{studio.url}/api/v1", headers=headers) as client,
    ):
        yield studio, client


async def test_a_run_is_begun_and_asked_more_with_files(tmp_path: Path) -> None:
    double = Double(lambda _: [chunk("stop", content="It is wide.")])
    async with double as url, project(tmp_path, url, mine=Agent(tools=[double_it])) as (s, client):
        choices = (await client.get("/choices")).json()
        assert (choices["default"], choices["agents"]) == (["mine/m"], ["mine"])
        assert choices["kinds"] == ["chat", "deliver"]
        body = {
            "prompt": "What does it say?",
            "agent": "mine",
            "kind": "chat",
            "tools": [],
            "limits": {"turns": 2, "total_tokens": 90_000},
            "attachments": [{"name": "a.txt", "data": encoded("The sea is wide.")}],
        }
        begun = await client.post("/runs", json=body)
        assert begun.status_code == 201, begun.text
        run = begun.json()["run"]
        await client.get(f"/runs/{run}/events")
        spec = (await s.world.get(run)).state.run_spec
        assert (spec.kind, spec.limits.turns, spec.tools().names) == ("chat", 2, ("double_it",))
        assert [one.name for one in spec.attachments] == ["a.txt"]
        more = {"text": "And this?", "attachments": [{"data": encoded("The sky is high.")}]}
        assert (await client.post(f"/runs/{run}/follow-up", json=more)).status_code == 202
        while len(double.requests) < 2:
            await client.get(f"/runs/{run}/events")
        assert "The sky is high." in json.dumps(double.requests[1])
        for wrong, status in (
            ({"agent": "os:system"}, 404),
            ({"tools": ["rm"]}, 409),
            ({"kind": "build"}, 422),
            ({"limits": {"cost": 0}}, 422),
            ({"limits": {"cost": 1.0}}, 409),  # the price of the model is not known
            ({"attachments": [{"data": "a"}]}, 422),
            ({"attachments": [{"data": "AAA="}] * 21}, 422),
            ({"attachments": [{"name": "x.png", "data": "iVBORw0KGgo="}]}, 422),  # is not whole
        ):
            answer = await client.post("/runs", json=body | wrong)
            assert answer.status_code == status, (wrong, answer.text)
        assert len(await s.world.archive.runs()) == 1


async def test_a_fork_replaces_a_result_and_records_say_how_it_stood(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> list[dict[str, Any]]:
        last = body["messages"][-1]
        if last["role"] != "tool":
            return called("double_it", {"number": 4})
        return [chunk("stop", content=f"It is {last['content']}.")]

    async with (
        Double(answer) as url,
        project(tmp_path, url, mine=Agent(tools=[double_it])) as (
            s,
            client,
        ),
    ):
        body = {"prompt": "Twice 4?", "agent": "mine", "kind": "chat"}
        run = (await client.post("/runs", json=body)).json()["run"]
        await client.get(f"/runs/{run}/events")
        lines = (await s.world.archive.history(run)).lines
        (seq,) = (
            n.seq for n in lines if getattr(getattr(n, "event", None), "type", "") == "ToolReturned"
        )
        shown = (await client.get(f"/runs/{run}/records/{seq}")).json()
        assert (shown["name"], shown["records"]) == ("ToolReturned", len(lines))
        assert shown["state"].startswith("sha256:") and any(f["changed"] for f in shown["facts"])
        for missing in ("0", "x", "²", "9" * 13, str(len(lines) + 1)):
            assert (await client.get(f"/runs/{run}/records/{missing}")).status_code == 404
        fork = {"at": seq, "edits": [{"record": seq, "content": "9"}]}
        made = await client.post(f"/runs/{run}/fork", json=fork)
        assert made.status_code == 201, made.text
        new = made.json()["run"]
        await client.get(f"/runs/{new}/events")
        assert (await s.world.get(new)).text == "It is 9."


async def test_files_and_origins_of_a_report(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> list[dict[str, Any]]:
        if body["messages"][-1]["role"] != "tool":
            return called("create_table", {"table": TABLE})
        return [chunk("stop", content="See {{artifact:table:t}}")]

    async with Double(answer) as url, project(tmp_path, url) as (_, client):
        run = (await client.post("/runs", json={"prompt": "A table."})).json()["run"]
        await client.get(f"/runs/{run}/events")
        kinds = {"json": "application/json", "md": "text/markdown", "html": "text/html"}
        for form, media_type in kinds.items():
            file = await client.get(f"/runs/{run}/report-file", params={"format": form})
            assert file.headers["content-type"].startswith(media_type)
            assert file.headers["content-disposition"].startswith("attachment")
        csv = await client.get(
            f"/runs/{run}/artifact-file", params={"artifact": "t", "format": "csv"}
        )
        assert csv.text.removeprefix("\ufeff").split() == ['"a"', '"1"', '"2"']
        none = await client.get(f"/runs/{run}/artifact-file", params={"artifact": "no"})
        assert none.status_code == 404
        picture = {"artifact": "t", "format": "png"}
        assert (await client.get(f"/runs/{run}/artifact-file", params=picture)).status_code == 409
        found = (await client.get(f"/runs/{run}/sources")).json()
        (table,), (said,) = found["artifacts"], found["sentences"]
        assert table["id"] == "t" and table["made"]["receipt"] > table["made"]["intent"] > 0
        assert said["cites"] and said["reply"] > table["made"]["receipt"]


async def test_whoever_answers_for_a_called_agent_lets_its_caller_go_on(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> list[dict[str, Any]]:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return [chunk("stop", content=f"Heard: {last['content']}")]
        tools = {one["function"]["name"] for one in body["tools"]}
        if "double_it" in tools:
            return called("double_it", {"number": 4})
        return called("ask", {"prompt": "Twice 4?"})

    policy = Policy(rules=(Rule(decision="ask", tool="double_it"),))
    inner = Agent(tools=[double_it], kind="chat", policy=policy)
    outer = Agent(tools=[inner.as_tool("ask", "Ask it.")], kind="chat")
    async with Double(answer) as url, project(tmp_path, url, outer=outer) as (s, client):
        body = {"prompt": "Ask.", "agent": "outer"}
        run = (await client.post("/runs", json=body)).json()["run"]
        await client.get(f"/runs/{run}/events")
        child = (await s.world.get(run)).children[0]
        (question,) = (await s.world.get(child)).questions
        decision = {"call": question.digest, "approved": True}
        assert (await client.post(f"/runs/{child}/approve", json=decision)).status_code == 202
        while (await s.world.get(run)).status != "completed":
            await client.get(f"/runs/{run}/events")
        assert (await s.world.get(run)).text == "Heard: Heard: 8"


async def test_versions_and_what_changed_are_there_for_programs(tmp_path: Path) -> None:
    async with project(tmp_path, "http://127.0.0.1:9/v1") as (studio, client):
        await revised(studio.world)
        found = (await client.get("/runs/r/versions")).json()
        assert [one["number"] for one in found["report"]] == [1, 2]
        cities = [one for one in found["artifacts"] if one["name"] == "table:cities"]
        assert [one["cause"]["what"] for one in cities] == ["the prompt", "a follow-up"]
        assert cities[1]["cause"]["by"] == "Ada" and cities[0]["digest"] != cities[1]["digest"]
        names = [one for one in found["artifacts"] if one["name"] == "list:names"]
        assert [one["withdrawn"] for one in names] == [False, True]

        first = await client.get("/runs/r/report-version", params={"version": 1})
        assert "The end." in first.json()["narrative"]
        table = {"artifact": "table:cities"}
        old = await client.get("/runs/r/artifact-version", params={**table, "version": 1})
        assert (old.json()["id"], len(old.json()["rows"])) == ("cities", 4)
        csv = {**table, "version": 1, "format": "csv"}
        assert "2873000" in (await client.get("/runs/r/artifact-file", params=csv)).text

        change = (await client.get("/runs/r/artifact-changes", params=table)).json()
        assert (change["before"], change["after"], change["same"]) == (1, 2, 2)
        kinds = {row["kind"]: [cell["kind"] for cell in row["cells"]] for row in change["rows"]}
        assert kinds["changed"] == ["same", "changed", "same"] and kinds.keys() > {"added"}
        lines = {"artifact": "file:notes/a.md"}
        text = (await client.get("/runs/r/artifact-changes", params=lines)).json()["lines"]
        assert {"kind": "added", "text": "third"} in text
        report = (await client.get("/runs/r/report-changes")).json()
        assert {"kind": "withdrawn", "name": "list:names", "title": "names"} in report["artifacts"]
        assert [part["kind"] for part in report["paragraphs"]].count("changed") == 1

        for path, query in (
            ("artifact-version", {"artifact": "table:none"}),
            ("artifact-version", {"artifact": "list:names", "version": 2}),
            ("artifact-changes", {**table, "after": 9}),
            ("report-version", {"version": 9}),
            ("report-changes", {"before": 9}),
        ):
            answer = await client.get(f"/runs/r/{path}", params=query)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), path


async def test_all_exports_share_one_limit(tmp_path: Path) -> None:
    async with project(tmp_path, "http://127.0.0.1:9/v1") as (studio, client):
        await revised(studio.world)
        may_end, waiting = asyncio.Event(), list[asyncio.Task[Any]]()
        for _ in range(MAX_WAITING):
            waiting.append(asyncio.create_task(studio.exports.wait(may_end.wait)))
        await asyncio.sleep(0)
        for path in ("export", "report-file?format=html", "artifact-file?artifact=cities"):
            answer = await client.get(f"/runs/r/{path}")
            assert answer.status_code == 409 and "being made already" in answer.text, path
        may_end.set()
        await asyncio.gather(*waiting)
        recording = await client.get("/runs/r/export")
        assert recording.content == await studio.world.archive.export_run("r")
