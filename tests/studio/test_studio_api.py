"""The API as a program uses it: with a token, over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_double import Double, chunk
from studio_kit import Studio, fixture, http_client, serving

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config, StudioConfig, load_config
from artificer.core.policy import Policy, Rule
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.api.endpoints import ENDPOINTS
from artificer.studio.api.openapi import document
from artificer.studio.protection import MAX_BODY
from artificer.studio.tokens import ApiTokens, TokenScope
from artificer.world import World

pytestmark = pytest.mark.req("studio-api")

HOSTILE = "<script>alert(1)</script>\u202e\"'\x1b[2J{{artifact:table:x}}"
TABLE = {"kind": "table", "id": "t", "columns": ["a"], "rows": [["<b>x</b>"], ["2"]]}

Clients = Callable[..., httpx.AsyncClient]


@fixture
async def api(tmp_path: Path) -> AsyncIterator[tuple[Studio, Clients]]:
    """A studio, and clients whose tokens have the scopes that a test names."""
    tokens = ApiTokens(tmp_path, lambda: 0)
    config = Config(studio=StudioConfig(requests_per_minute=1_000))
    async with World.in_memory(config) as world, serving(world, tokens=tokens) as studio:
        opened: list[httpx.AsyncClient] = []

        def client(*scopes: TokenScope) -> httpx.AsyncClient:
            _, text = tokens.new("ci", scopes, 1)
            headers = {"Authorization": f"Bearer {text}"}
            found = http_client(f"{studio.url}/api/v1", headers=headers)
            opened.append(found)
            return found

        yield studio, client
        for one in opened:
            await one.aclose()


async def _seed(world: World) -> str:
    model = ScriptedProvider(
        [reply(call("create_table", table=TABLE)), say("See {{artifact:table:t}}")]
    )
    return (await world.run(HOSTILE, Agent(model))).id


def error_of(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/json"
    (error,) = answer.json().values()
    assert error.keys() == {"code", "message", "hint"} and error["message"] and error["hint"]
    return answer.status_code, error["code"]


async def test_what_a_run_made_can_be_read(api: tuple[Studio, Clients]) -> None:
    studio, clients = api
    client, run = clients("read"), await _seed(studio.world)
    caller = (await client.get("/me")).json()
    assert caller["name"].startswith("ci (token ") and caller["scopes"] == ["read"]
    (listed,) = (await client.get("/runs")).json()["runs"]
    assert (listed["run"], listed["status"], listed["prompt"]) == (run, "completed", HOSTILE)
    shown = (await client.get(f"/runs/{run}")).json()
    assert shown["status"] == "completed" and shown["artifacts"][0]["id"] == "t"
    artifact = (await client.get(f"/runs/{run}/artifacts/t")).json()
    assert artifact["rows"] == [{"a": "<b>x</b>"}, {"a": "2"}]
    assert (await client.get(f"/runs/{run}/explanation")).json()["stands"] == "completed"
    assert (await client.post(f"/runs/{run}/replay")).json()["identical"] is True
    comparison = await client.get(f"/runs/{run}/comparison", params={"other": run})
    assert comparison.json()["first"] is None
    (hit, *_) = (await client.get("/search", params={"q": "alert"})).json()["hits"]
    assert hit["run"] == run
    assert (await client.get("/inbox")).json()["questions"] == []
    assert "day" in (await client.get("/budget")).json()
    assert (await client.get(f"/runs/{run}/related")).json() == {"build": [], "children": []}


async def test_reports_and_recordings_are_files(api: tuple[Studio, Clients]) -> None:
    studio, clients = api
    client, run = clients("read"), await _seed(studio.world)
    page = await client.get(f"/runs/{run}/report")
    assert page.headers["content-security-policy"].startswith("sandbox;")
    assert "<script>alert" not in page.text
    markdown = await client.get(f"/runs/{run}/report", params={"format": "markdown"})
    assert markdown.headers["content-type"].startswith("text/markdown")
    file = await client.get(f"/runs/{run}/export")
    assert file.headers["content-disposition"].startswith("attachment")
    async with World.in_memory() as other:
        assert await other.import_run(file.content) == run


async def test_lists_have_pages(api: tuple[Studio, Clients]) -> None:
    studio, clients = api
    client = clients("read")
    made = [await _seed(studio.world) for _ in range(3)]
    found, before = list[str](), None
    for _ in range(3):
        params = {"limit": 1} | ({"before": before} if before else {})
        page = (await client.get("/runs", params=params)).json()
        found += [run["run"] for run in page["runs"]]
        before = page["next"]
    assert found == made[::-1] and before is None
    events, after = [], 0
    while after is not None:
        params = {"limit": 2, "after": after}
        page = (await client.get(f"/runs/{made[0]}/records", params=params)).json()
        events += page["events"]
        after = page["next"]
    whole = (await client.get(f"/runs/{made[0]}/records")).json()
    assert events == whole["events"] and len(events) > 4


async def test_the_stream_is_that_of_the_recorded_events(api: tuple[Studio, Clients]) -> None:
    studio, clients = api
    client, run = clients("read"), await _seed(studio.world)
    text = (await client.get(f"/runs/{run}/events")).text
    assert text.startswith("retry: 1000")
    types = [line[7:] for line in text.splitlines() if line.startswith("event: ")]
    assert types[0] == "run_started" and types[-1] == "run_ended"
    later = await client.get(f"/runs/{run}/events", headers={"Last-Event-ID": "2"})
    assert "run_started" not in later.text


@asynccontextmanager
async def with_model(folder: Path) -> AsyncIterator[World]:
    async with Double(lambda _: [chunk("stop", content="It is wide.")]) as url:
        text = f'model = "mine/m"\n[providers.mine]\nbase_url = "{url}"\n'
        (folder / "artificer.toml").write_text(text, "utf-8")
        async with World.open(load_config(folder, home=str(folder / "home"))) as world:
            yield world


async def test_a_program_begins_and_continues_a_run_in_its_name(tmp_path: Path) -> None:
    async with with_model(tmp_path) as world:
        tokens = ApiTokens(world.config.project_folder, lambda: 0)
        token, text = tokens.new("ci", ("read", "act"), 1)
        headers = {"Authorization": f"Bearer {text}"}
        async with (
            serving(world, tokens=tokens) as studio,
            http_client(f"{studio.url}/api/v1", headers=headers) as client,
        ):
            begun = await client.post("/runs", json={"prompt": "Write about the sea."})
            assert begun.status_code == 201
            run = begun.json()["run"]
            await client.get(f"/runs/{run}/events")  # ends with the run
            sent = await client.post(f"/runs/{run}/follow-up", json={"text": "And the sky?"})
            assert sent.status_code == 202 and sent.json()["number"] >= 1
            for _ in range(100):
                history = await world.archive.history(run)
                said = [line.event for line in history.lines if hasattr(line, "event")]
                if (by := [e.by for e in said if e.type == "FollowUpReceived"]) != []:
                    break
                await client.get(f"/runs/{run}/events")
            assert by == [f"ci (token {token.id})"]
            forked = await client.post(f"/runs/{run}/fork", json={"prompt": "The moon."})
            assert forked.status_code == 201 and forked.json()["run"] != run
            refused = await client.post("/runs", json={"prompt": "x", "model": "nobody/none"})
            assert error_of(refused)[0] == 409


async def test_only_who_may_approve_decides(api: tuple[Studio, Clients]) -> None:
    studio, clients = api

    @tool
    def launch(target: str) -> str:
        """Launch something."""
        return target

    policy = Policy(rules=(Rule(decision="ask", tool="launch", reason=HOSTILE),))
    model = ScriptedProvider([reply(call("launch", target=HOSTILE)), say("Done.")])
    run = await studio.world.run("Launch it.", Agent(model, tools=[launch], policy=policy))
    assert run.status == "waiting"
    reader, approver = clients("read"), clients("approve")
    (question,) = (await reader.get("/inbox")).json()["questions"]
    assert question["run"] == run.id and question["kind"] == "call"
    assert json.loads(question["arguments"]) == {"target": HOSTILE}
    body = {"call": question["digest"], "approved": False, "reason": "No."}
    for wrong in (reader, clients("act")):
        answer = await wrong.post(f"/runs/{run.id}/approve", json=body)
        assert error_of(answer) == (403, "forbidden")
    other = body | {"call": "sha256:" + "0" * 64}
    assert error_of(await approver.post(f"/runs/{run.id}/approve", json=other)) == (
        404,
        "not_found",
    )
    assert (await approver.post(f"/runs/{run.id}/approve", json=body)).status_code == 202
    assert error_of(await approver.get("/runs")) == (403, "forbidden")


async def test_admin_lists_and_revokes_tokens(api: tuple[Studio, Clients]) -> None:
    _, clients = api
    admin, other = clients("admin"), clients("read", "act", "approve")
    assert error_of(await other.get("/tokens")) == (403, "forbidden")
    listed = (await admin.get("/tokens")).json()["tokens"]
    assert len(listed) == 2 and all("digest" not in token for token in listed)
    assert (await admin.delete(f"/tokens/{listed[1]['id']}")).status_code == 200
    assert error_of(await other.get("/me")) == (401, "access")
    assert (await admin.post("/verify")).json()["sound"] is True


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/runs/nowhere", None, (404, "not_found")),
        ("GET", "/runs/%00%0a", None, (404, "not_found")),
        ("GET", "/runs/" + "x" * 201, None, (404, "not_found")),
        ("GET", "/nowhere", None, (404, "not_found")),
        ("DELETE", "/runs", None, (405, "not_found")),
        ("GET", "/runs?limit=0", None, (422, "invalid_value")),
        ("GET", "/runs?limit=abc", None, (422, "invalid_value")),
        ("GET", "/runs?limit=1&limit=2", None, (422, "invalid_value")),
        ("GET", "/runs?unknown=1", None, (422, "invalid_value")),
        ("GET", "/search?q=", None, (422, "invalid_value")),
        ("POST", "/runs", b"{", (422, "invalid_value")),
        ("POST", "/runs", b"\xff", (422, "invalid_value")),
        ("POST", "/runs", b"[" * 100_000, (422, "invalid_value")),
        ("POST", "/runs", b'{"prompt": ""}', (422, "invalid_value")),
        ("POST", "/runs", b'{"prompt": "x", "shell": ["rm"]}', (422, "invalid_value")),
        ("POST", "/runs/nowhere/steer", b'{"text": "x"}', (404, "not_found")),
        ("POST", "/verify", b"x" * (MAX_BODY + 1), (413, "access")),
    ],
)
async def test_a_wrong_request_is_answered_in_one_form(
    api: tuple[Studio, Clients], method: str, path: str, body: bytes | None, expected: Any
) -> None:
    client = api[1]("admin")
    assert error_of(await client.request(method, path, content=body)) == expected


async def test_what_is_not_there_says_where_to_look(api: tuple[Studio, Clients]) -> None:
    studio, clients = api
    client, run = clients("admin"), await _seed(studio.world)
    for method, path, above in (
        ("GET", f"/runs/{run}/artifacts/none", "/runs/{run}/artifacts"),
        ("GET", f"/runs/{run}/records/99", "/runs/{run}/records"),
        ("POST", f"/runs/{run}/approve", "/runs/{run}"),
        ("GET", f"/runs/{'x' * 201}", "/runs"),
    ):
        body = {"call": f"sha256:{'0' * 64}", "approved": True} if method == "POST" else None
        answer = await client.request(method, path, json=body)
        assert error_of(answer) == (404, "not_found"), path
        hint = answer.json()["error"]["hint"]
        assert hint == f"GET /api/v1{above} shows what there is."


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer artificer_00000000_" + "A" * 43)],
        [("Authorization", "Basic QWRhOng=")],
        [("Authorization", "Bearer " + "x" * 8_000)],
        [("Cookie", "artificer_studio=x; artificer_studio_8420=x")],
    ],
)
async def test_nobody_unknown_gets_in(api: tuple[Studio, Clients], headers: Any) -> None:
    studio, _ = api
    async with http_client(f"{studio.url}/api/v1") as client:
        for path in ("/me", "/openapi.json", "/nowhere"):
            answer = await client.get(path, headers=headers)
            assert error_of(answer) == (401, "access")
            assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_token_opens_the_api_only_at_its_own_host(api: tuple[Studio, Clients]) -> None:
    studio, clients = api
    client = clients("admin")
    assert error_of(await client.get("/me", headers={"Host": "evil.example"})) == (421, "access")
    evil = {"Origin": "https://evil.example"}
    refused = await client.post("/runs", json={"prompt": "x"}, headers=evil)
    assert error_of(refused) == (403, "forbidden")
    twice = [("Authorization", client.headers["authorization"])] * 2
    async with http_client("") as bare:
        assert (await bare.get(f"{studio.url}/api/v1/me", headers=twice)).status_code == 401
        one = dict(twice)
        assert (await bare.get(f"{studio.url}/", headers=one)).status_code == 401
        assert (await bare.post(f"{studio.url}/runs", headers=one)).status_code == 401
    assert await studio.world.archive.runs() == []


async def test_a_page_needs_its_form_key(api: tuple[Studio, Clients]) -> None:
    studio, _ = api
    async with http_client(studio.url) as client:
        await client.get("/", params={"key": studio.key})
        assert (await client.get("/api/v1/me")).json()["name"] == "Ada"
        origin = {"Origin": studio.url}
        answer = await client.post("/api/v1/verify", headers=origin)
        assert error_of(answer) == (403, "forbidden")
        cookie = client.cookies[f"artificer_studio_{studio.port}"]
        actor = studio.access.actor(cookie)
        assert actor is not None
        keyed = origin | {"X-Form-Key": actor.form_key}
        assert (await client.post("/api/v1/verify", headers=keyed)).status_code == 200


async def test_too_many_requests_say_when_to_come_again(tmp_path: Path) -> None:
    tokens = ApiTokens(tmp_path, lambda: 0)
    config = Config(studio=StudioConfig(requests_per_minute=2))
    async with World.in_memory(config) as world, serving(world, tokens=tokens) as studio:
        headers = {"Authorization": f"Bearer {tokens.new('a', ('read',), 1)[1]}"}
        async with http_client(studio.url, headers=headers) as client:
            answers = [await client.get("/api/v1/me") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert error_of(answers[2])[1] == "rate_limit" and int(answers[2].headers["retry-after"]) > 0


def test_every_endpoint_is_documented_once() -> None:
    operations = [
        operation["operationId"]
        for path in document()["paths"].values()
        for operation in path.values()
    ]
    assert len(operations) == len(set(operations)) == len(ENDPOINTS)
    assert all(endpoint.work.__doc__ for endpoint in ENDPOINTS)
    assert ">>>" not in str(document()), "an example in Python is of no use to a client"


async def test_every_endpoint_needs_its_right(api: tuple[Studio, Clients]) -> None:
    studio, clients = api
    rights: tuple[TokenScope, ...] = ("read", "act", "approve")
    by_right = {right: clients(right) for right in rights}
    async with http_client(f"{studio.url}/api/v1") as nobody:
        for endpoint in ENDPOINTS:
            path = re.sub(r"\{record\}", "1", endpoint.path)
            path = re.sub(r"\{\w+\}", "x", path)
            refused = (await nobody.request(endpoint.method, path)).status_code
            assert refused in (401, 429), "429 after sixty of them within a minute"
            for right, client in by_right.items():
                if right != endpoint.scope:
                    answer = await client.request(endpoint.method, path)
                    assert error_of(answer) == (403, "forbidden"), (right, endpoint.path)


async def test_a_path_that_nothing_matches_is_answered_as_json(api: tuple[Studio, Clients]) -> None:
    client = api[1]("read")
    assert error_of(await client.get("/runs/a%0Ab/report")) == (404, "not_found")


async def test_people_tick_off_items_and_conflicts_are_clear(api: tuple[Studio, Clients]) -> None:
    studio, clients = api
    items = [{"id": "milk", "label": "Milk"}, {"id": "tea", "label": "Tea"}]
    todo = {"kind": "checklist", "id": "todo", "items": items}
    made = reply(call("create_checklist", checklist=todo))
    model = ScriptedProvider([made, say("{{artifact:checklist:todo}}")])
    run = (await studio.world.run("A list.", Agent(model))).id
    client = clients("read", "act")
    (seen,) = (await client.get(f"/runs/{run}/checklists")).json()["checklists"]
    known = {"version": seen["version"], "revision": seen["revision"]}
    body = {"checklist": "todo", "item": "milk", **known}
    ticked = await client.post(f"/runs/{run}/tick", json=body)
    assert ticked.status_code == 200 and ticked.json()["recorded"] is True
    (milk, tea) = ticked.json()["checklist"]["items"]
    assert milk["checked"] and milk["by"].startswith("ci (token ") and not tea["checked"]
    late = await client.post(f"/runs/{run}/tick", json=body | {"checked": False})
    assert error_of(late) == (409, "conflict")
    missing = await client.post(f"/runs/{run}/tick", json=body | {"item": "rum"})
    assert error_of(missing) == (404, "not_found")
