"""The rights of people in the studio, and the pages of errors."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from studio_kit import http_client, serving

from artificer.agent import Agent
from artificer.config import Config
from artificer.providers.scripted import ScriptedProvider, say
from artificer.studio.identity import ProxyIdentity
from artificer.studio.routes import ROUTES
from artificer.studio.tokens import TokenScope
from artificer.world import World

FORMS = [route.path for route in ROUTES if "POST" in (route.methods or ())]

FREE = {"/runs/{run}/replay"}
"""Forms that change nothing: whoever may read may send them."""


def filled(path: str, run: str) -> str:
    values = {"run": run, "seq": "1", "action": "steer", "kind": "answer", "checklist": "todo"}
    return path.format(**values)


@pytest.mark.req("studio-rights")
@pytest.mark.parametrize("rights", [(), ("read",), ("read", "act"), ("read", "approve")])
async def test_a_form_needs_the_right_that_its_endpoint_needs(
    rights: tuple[TokenScope, ...],
) -> None:
    identity = ProxyIdentity("X-User", ["127.0.0.1"], rights)
    async with World.in_memory() as world, serving(world, identity=identity) as studio:
        run = (await world.run("Hi.", Agent(ScriptedProvider([say("Hello.")])))).id
        before = len((await world.archive.history(run)).lines)
        named = {"X-User": "Ada", "Origin": studio.url}
        async with http_client(studio.url, headers=named) as client:
            page = await client.get(f"/runs/{run}")
            assert page.status_code == (200 if rights else 403)
            key = re.search(r'name="form_key" value="([^"]+)"', page.text)
            data = {"form_key": key[1] if key else "", "text": "More.", "decision": "approve"}
            for path in FORMS:
                needs = {"/runs/{run}/decisions/{kind}": "approve", "/verify": "admin"}
                if needs.get(path, "read" if path in FREE else "act") in rights:
                    continue
                answer = await client.post(filled(path, run), data=data)
                assert answer.status_code == 403, path
                assert "Not allowed" in answer.text
            assert len((await world.archive.history(run)).lines) == before
            assert await world.archive.runs() == [run]


@pytest.mark.req("studio-damage")
async def test_a_damaged_run_has_a_page_that_says_what_to_do(tmp_path: Path) -> None:
    config = Config(home=tmp_path, project="p")
    async with World.open(config) as world, serving(world) as studio:
        prompt = "<b>Hi.</b>"
        run = (await world.run(prompt, Agent(ScriptedProvider([say("Hello.")])))).id
        sound = (await world.run("Well.", Agent(ScriptedProvider([say("Hello.")])))).id
        _damage(tmp_path / "p" / "journal.db", run)
        async with http_client(studio.url) as client:
            await client.get("/", params={"key": studio.key})
            for part in ("", "/records", "/sources", "/report", "/body", "/tree"):
                answer = await client.get(f"/runs/{run}{part}")
                assert answer.status_code == 500, part
                assert answer.headers["content-type"].startswith("text/html")
                assert "Something here is damaged" in answer.text
                assert "artificer verify" in answer.text and run in answer.text
                assert "<b>Hi" not in answer.text
            assert (await client.get("/")).status_code == 200
            assert (await client.get(f"/runs/{sound}")).status_code == 200
            missing = await client.get("/runs/<i>nowhere")
            assert missing.status_code == 404 and "<i>nowhere" not in missing.text
            assert 'href="/inbox"' in missing.text
        async with http_client(studio.url) as client:
            locked = await client.get("/")
            assert locked.status_code == 401 and "artificer studio" in locked.text
            assert "/inbox" not in locked.text


def _damage(journal: Path, run: str) -> None:
    with sqlite3.connect(journal) as db:
        made = "UPDATE records SET body = CAST(replace(body, 'Hello', 'Hallo') AS BLOB)"
        db.execute(f"{made} WHERE run = ?", (run,))
    db.close()
