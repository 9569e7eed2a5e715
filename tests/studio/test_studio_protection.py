"""Who reaches the studio, and what an answer may do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from studio_kit import Studio, fixture, http_client, serving

from artificer.agent import Agent
from artificer.providers.scripted import ScriptedProvider, say
from artificer.studio.access import MAX_SESSIONS, Access
from artificer.studio.assets import asset_root, version_of
from artificer.studio.protection import MAX_BODY
from artificer.world import World

pytestmark = pytest.mark.req("studio-access")

ASSETS = asset_root()
LONG = "max-age=31536000, immutable"


@fixture
async def client(served: Studio) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that has opened the studio with its key."""
    async with http_client(served.url) as client:
        entered = await client.get("/", params={"key": served.key})
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        yield client


async def form_key(client: httpx.AsyncClient) -> str:
    found = re.search(r'name="form_key" value="([^"]+)"', (await client.get("/")).text)
    assert found is not None
    return found[1]


async def test_without_the_key_every_page_is_locked(served: Studio) -> None:
    async with http_client(served.url) as client:
        for path in ("/", "/inbox", "/search", "/runs/x", "/runs/x/events", "/runs/x/report"):
            assert (await client.get(path)).status_code == 401
        assert (await client.get("/", params={"key": "wrong"})).status_code == 401
        assert (await client.get(f"{ASSETS}/studio.css")).status_code == 200


async def test_an_address_with_the_key_may_begin_with_a_run(served: Studio) -> None:
    async with http_client(served.url) as client:
        entered = await client.get("/runs/x%22y", params={"key": served.key})
        assert (entered.status_code, entered.headers["location"]) == (303, "/runs/x%22y")
    async with http_client(served.url) as client:
        for path in ("/runs/x/y", "//evil.example", "/runs//evil.example", "/search"):
            url = f"{served.url}{path}?key={served.key}"
            assert (await client.get(url)).status_code == 401


async def test_the_cookie_is_for_this_site_only(served: Studio) -> None:
    async with http_client(served.url) as client:
        entered = await client.get("/", params={"key": served.key})
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert served.key not in cookie


async def test_a_second_studio_in_a_browser_leaves_the_first_one_open(served: Studio) -> None:
    """Cookies know no ports, so both would have the same one."""
    async with World.in_memory() as world, serving(world) as other, http_client("") as browser:
        for studio in (served, other):
            await browser.get(f"{studio.url}/", params={"key": studio.key})
        for studio in (served, other):
            assert (await browser.get(f"{studio.url}/")).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example:80"])
async def test_another_name_of_this_machine_is_refused(
    client: httpx.AsyncClient, host: str
) -> None:
    answer = await client.get("/", headers={"Host": host})
    assert answer.status_code == 421


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:1"])
async def test_a_form_of_another_site_is_refused(
    client: httpx.AsyncClient, origin: str | None
) -> None:
    headers = {} if origin is None else {"Origin": origin}
    data = {"form_key": await form_key(client), "prompt": "Hi."}
    answer = await client.post("/runs", data=data, headers=headers)
    assert answer.status_code == 403


async def test_a_form_without_its_key_is_refused(client: httpx.AsyncClient, served: Studio) -> None:
    for key in ("", "wrong"):
        data = {"form_key": key, "prompt": "Hi."}
        answer = await client.post("/runs", data=data, headers={"Origin": served.url})
        assert answer.status_code == 403
    assert await served.world.archive.runs() == []


async def test_a_large_body_is_refused(client: httpx.AsyncClient, served: Studio) -> None:
    headers = {"Origin": served.url}
    answer = await client.post("/verify", content=b"x" * (MAX_BODY + 1), headers=headers)
    assert answer.status_code == 413


async def test_every_answer_has_a_policy_without_inline_script(
    client: httpx.AsyncClient,
) -> None:
    for path in ("/", "/inbox", "/search", f"{ASSETS}/studio.js", "/runs/nowhere"):
        answer = await client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_no_answer_is_framed_by_another_site(
    client: httpx.AsyncClient, served: Studio
) -> None:
    """Ports do not matter to cookies: a page of another server of this machine sends them, too."""
    made = await served.world.run("Hi.", Agent(ScriptedProvider([say("Words.")])))
    run = f"/runs/{made.id}"
    for path in ("/", f"{ASSETS}/studio.js", f"/api/v1{run}/report", f"{run}/export/html"):
        policy = (await client.get(path)).headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy, path
    for path in (f"{run}/report", f"{run}/report/{made.events[-1].seq}"):
        policy = (await client.get(path)).headers["content-security-policy"]
        assert "frame-ancestors 'self'" in policy, path


@pytest.mark.req("studio-kept-assets")
async def test_only_styles_and_scripts_are_kept(client: httpx.AsyncClient) -> None:
    page = (await client.get("/")).text
    for name in ("icon.svg", "studio.js", "studio.css", "tokens.css"):
        assert f'"{ASSETS}/{name}"' in page
        assert (await client.get(f"{ASSETS}/{name}")).headers["cache-control"] == LONG
        older = await client.get(f"/static/0123/{name}")
        assert (older.status_code, older.headers["cache-control"]) == (200, "no-store")
    assert 'from "./forming.js"' in (await client.get(f"{ASSETS}/studio.js")).text
    for path in ("/", "/runs", "/runs/nowhere", f"{ASSETS}/nothing.js", "/api/v1/runs"):
        assert (await client.get(path)).headers["cache-control"] == "no-store"


@pytest.mark.req("studio-kept-assets")
def test_the_address_of_styles_and_scripts_changes_with_each_of_them() -> None:
    assets = {"a.js": b"1", "b.js": b"2"}
    others = [{**assets, "a.js": b"2"}, {"a.js": b"1", "c.js": b"2"}, {**assets, "c.js": b""}]
    assert len({version_of(some) for some in (assets, *others)}) == 4


async def test_a_hostile_prompt_is_shown_as_text(client: httpx.AsyncClient, served: Studio) -> None:
    prompt = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    model = ScriptedProvider([say("<b>bold</b> [x](javascript:alert(3))")])
    run = await served.world.run(prompt, Agent(model))
    for path in ("/", f"/runs/{run.id}", f"/runs/{run.id}/body", "/search?q=alert"):
        text = (await client.get(path)).text
        assert "<script>alert" not in text and "<img src=x" not in text and "<b>bold" not in text
    report = await client.get(f"/runs/{run.id}/report")
    assert "sandbox" in report.headers["content-security-policy"]
    assert "javascript:alert" not in report.text.replace("](javascript:alert(3))", "")


def test_a_single_key_opens_one_session() -> None:
    access = Access("Ada")
    old, new = access.single_key(), access.single_key()
    assert [access.open(key) is None for key in (old, new, new, access.key, access.key)] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_sessions_are_bounded() -> None:
    access = Access("Ada")
    cookies = [access.open(access.key) for _ in range(MAX_SESSIONS + 1)]
    assert access.actor(cookies[0]) is None
    assert access.actor(cookies[-1]) is not None
    assert access.open("") is None
