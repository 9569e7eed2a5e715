"""A web application opens a world as its lifespan."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from artificer import Agent, lifespan
from artificer.testing import ScriptedProvider


@pytest.mark.req("web-lifespan")
def test_handlers_find_the_world_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFICER_HOME", str(tmp_path))
    agent = Agent(ScriptedProvider(["Hello.", "Hello again."]), kind="chat")
    app = FastAPI(lifespan=lifespan)

    async def greet(request: Request) -> str:
        return (await agent.run("Hi.", world=request.state.world)).text

    app.add_api_route("/greet", greet)
    with TestClient(app) as client:
        assert client.get("/greet").json() == "Hello."
        assert client.get("/greet").json() == "Hello again."
    assert list(tmp_path.rglob("journal.db"))
