"""A whole governed run in a real browser: judged, asked for, journaled, replayed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.core.events import ToolReturned
from artificer.ports import Answer, Question
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.world import World
from needs import needs

pytestmark = [
    pytest.mark.browser,
    needs("chromium", "playwright"),
]

PAGE = b"""<!doctype html><title>Tea</title><form method=post action="/ordered">
<input name=tea aria-label=Tea><button>Order</button></form>"""

MANIFEST = """
[tool]
name = "shop"
version = "1"
description = "The shop."
timeout_seconds = 20
[browser]
startup_timeout_seconds = 60
max_interactions = 6
[browser.scope]
allowed_domains = ["127.0.0.1:*"]
[browser.commands.navigate]
[browser.commands.type_text]
[browser.commands.submit_form]
risk_tier = "high"
[browser.commands.snapshot]
"""


class Person:
    """Approves orders once, and no more."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def ask(self, question: Question) -> Answer:
        """Answer at once."""
        self.asked.append((question.tool, question.arguments))
        return Answer(approved=len(self.asked) == 1, by="a test", reason="one is enough")


@pytest.fixture
def shop() -> Iterator[tuple[str, list[bytes]]]:
    """A shop, and the orders it has had."""
    orders: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(PAGE)

        def do_POST(self) -> None:
            orders.append(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(b"<title>Ordered</title>Thank you")

        def _send(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", orders
        server.shutdown()
        thread.join()


@pytest.mark.req("browser-gate")
async def test_a_model_orders_tea_with_a_persons_leave(
    tmp_path: Path, shop: tuple[str, list[bytes]]
) -> None:
    (tmp_path / "shop.clad.toml").write_text(MANIFEST)
    url, orders = shop
    person = Person()
    order = call("shop.submit_form", selector="role=button[name='Order']")
    provider = ScriptedProvider(
        [
            reply(call("shop.navigate", url=f"{url}/")),
            reply(call("shop.type_text", selector="[name=tea]", text="Assam"), order),
            reply(call("shop.snapshot")),
            reply(call("shop.navigate", url="http://localhost/"), call("shop.fly")),
            reply(call("shop.navigate", url=f"{url}/")),
            reply(order),
            say("Ordered."),
        ]
    )
    async with World.in_memory() as world:
        run = await world.run(
            "Order tea.", Agent(model=provider, tools=[tmp_path], kind="chat"), approver=person
        )
        history = await world.archive.history(run.id)
        replayed = await world.archive.replay(run.id)
    events = [getattr(line, "event", None) for line in history.lines]
    read: list[dict[str, Any]] = [
        json.loads(event.content) for event in events if isinstance(event, ToolReturned)
    ]
    statuses = [b.status for m in run.state.history for b in m.blocks if b.type == "tool_result"]
    assert statuses == ["ok", "ok", "ok", "ok", "invalid", "unknown_tool", "ok", "denied"]
    assert [tool for tool, _ in person.asked] == ["shop.submit_form", "shop.submit_form"]
    assert orders == [b"tea=Assam"]
    assert read[2]["title"] == "Ordered" and read[3]["results"] == "- text: Thank you"
    assert "'localhost' is not an allowed domain" in json.dumps(read[4])
    assert replayed.identical
