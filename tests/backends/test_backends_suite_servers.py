"""The executors of servers, programs and pages behave as the port says too."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from browser_support import HEAD, Web, needs_browser
from http_support import Seen, Server, answer, serving

from artificer.backends.http.executor import HttpExecutor
from artificer.backends.mcp.connection import McpLink
from artificer.backends.mcp.executor import McpExecutor, discover
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.tools import McpContract
from artificer.backends.session.executor import SessionExecutor
from artificer.manifests.parse import parse_manifest
from artificer.ports import Executor
from artificer.testing.executor_suite import CallOf, EndlessCallSuite, ExecutorSuite, call_of

pytestmark = pytest.mark.req("suite-executor")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that knows one page, and never answers for another one."""
    over = threading.Event()

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        if seen.target == "/endless":
            over.wait(120)
        known = seen.target == "/a"
        page = answer(200 if known else 404, "<p>one</p>", {"Content-Type": "text/html"})
        page(handler, seen)

    with serving(respond) as running:
        yield running
        over.set()


MOMENT = 1_000_000_000_000


def then() -> int:
    """A clock that stands still."""
    return MOMENT


class EvidenceSuite:
    @pytest.mark.req("world-clock")
    async def test_its_evidence_has_the_time_of_the_clock(
        self, executor: Executor, working: CallOf
    ) -> None:
        receipt = await executor.execute(call_of(executor, working))
        evidence = json.loads(receipt.evidence or "")
        assert evidence["timestamp"] == "2001-09-09T01:46:40.000+00:00"
        assert evidence.get("duration_ms", 0) == 0


class TestHttp(ExecutorSuite, EndlessCallSuite, EvidenceSuite):
    @pytest.fixture
    def executor(self, server: Server) -> Executor:
        manifest = f"""
            tool = {{ name = "page", version = "1", description = "A page." }}
            http = {{ url = "{server.url}/{{name}}", allow_private = true }}
            args.name = {{ required = true }}
        """
        return HttpExecutor([parse_manifest(manifest, "page.clad.toml")], now=then)

    @pytest.fixture
    def working(self) -> CallOf:
        return "page", {"name": "a"}

    @pytest.fixture
    def failing(self) -> CallOf:
        return "page", {"name": "b"}

    @pytest.fixture
    def endless(self) -> CallOf:
        return "page", {"name": "endless"}


STUB = Path(__file__).with_name("mcp_stub.py")


class TestMcp(ExecutorSuite, EndlessCallSuite, EvidenceSuite):
    patience_s = 120  # a program is started

    @pytest.fixture
    async def executor(self) -> AsyncIterator[Executor]:
        link = McpLink(McpServer("stub", command=(sys.executable, str(STUB)), env={}))
        tools = await discover(link, McpContract(), ["echo", "fail", "hang"])
        yield McpExecutor(link, tools, now=then)
        await link.aclose()

    @pytest.fixture
    def working(self) -> CallOf:
        return "stub.echo", {"x": "one"}

    @pytest.fixture
    def failing(self) -> CallOf:
        return "stub.fail", {"x": "two"}

    @pytest.fixture
    def endless(self, tmp_path: Path) -> CallOf:
        return "stub.hang", {"x": str(tmp_path / "processes")}


SESSION = f"""
    tool = {{ name = "python", version = "1", description = "Python." }}
    [session]
    startup_command = {json.dumps(f"{sys.executable} -q -i")}
    startup_timeout_seconds = 60
    ready_pattern = "^>>> $"
    [session.commands.run]
    pattern = ".*"
    description = "Any line."
"""


class TestSession(ExecutorSuite, EndlessCallSuite, EvidenceSuite):
    patience_s = 120

    @pytest.fixture
    async def executor(self) -> AsyncIterator[Executor]:
        executor = SessionExecutor([parse_manifest(SESSION, "python.clad.toml")], now=then)
        yield executor
        await executor.release("run-1")

    @pytest.fixture
    def working(self) -> CallOf:
        return "python.run", {"command": "6 * 7"}

    @pytest.fixture
    def failing(self) -> CallOf:
        """The program ends; the call after this one starts it again."""
        return "python.run", {"command": "import os; os._exit(3)"}

    @pytest.fixture
    def endless(self) -> CallOf:
        return "python.run", {"command": "import time; time.sleep(100)"}


@needs_browser
@pytest.mark.browser
class TestBrowser(ExecutorSuite, EndlessCallSuite, EvidenceSuite):
    patience_s = 120

    @pytest.fixture
    async def executor(self) -> AsyncIterator[Executor]:
        executor = Web(head=HEAD.replace("= 8", "= 60"), now=then).executor
        yield executor
        await executor.release("run-1")

    @pytest.fixture
    def working(self, server: Server) -> CallOf:
        return "web.navigate", {"url": f"{server.url}/a"}

    @pytest.fixture
    def failing(self) -> CallOf:
        """The page raises an error."""
        return "web.execute_js", {"expression": "missing()"}

    @pytest.fixture
    def endless(self, server: Server) -> CallOf:
        return "web.navigate", {"url": f"{server.url}/endless"}
