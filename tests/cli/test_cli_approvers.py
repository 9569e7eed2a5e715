"""The approvers of the terminal and of MCP clients behave as the port says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cli_kit import Terminal
from mcp import Client
from mcp.server import Server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    ListToolsResult,
    TextContent,
)

from artificer.cli.mcp.ask import ClientApprover
from artificer.cli.terminal.approver import TerminalApprover
from artificer.cli.terminal.screen import Screen
from artificer.ports import Approver
from artificer.testing.approver_suite import ApproverSuite, question

pytestmark = pytest.mark.req("suite-approver")


@pytest.fixture(params=[True, False])
def approves(request: pytest.FixtureRequest) -> bool:
    """The answer of the person."""
    found: bool = request.param
    return found


class Person(Screen):
    """Sees each question and types an answer."""

    def __init__(self, terminal: Terminal, answer: str) -> None:
        self.terminal = terminal
        self.answer = answer

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Answer when the question has been shown."""
        asyncio.get_running_loop().call_soon(self.terminal.type, self.answer)
        yield


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    """A terminal."""
    opened = Terminal()
    yield opened
    opened.close()


class TestTerminal(ApproverSuite):
    @pytest.fixture
    def approver(self, terminal: Terminal, approves: bool) -> Approver:
        person = Person(terminal, "yes\n" if approves else "no\n")
        return TerminalApprover(person, terminal.slave)


@pytest.mark.req("terminal-approval-unseen")
async def test_what_was_typed_before_a_question_is_no_answer_to_it(terminal: Terminal) -> None:
    terminal.type("y\ny\n")
    await terminal.until("y\r\ny\r\n")
    approver = TerminalApprover(Person(terminal, "n\n"), terminal.slave)
    assert not (await approver.ask(question())).approved


class TestClient(ApproverSuite):
    """With real contexts: of a protocol whose servers ask, and of one whose servers wait."""

    @pytest.fixture(params=["legacy", "2026-07-28"])
    async def approver(
        self, request: pytest.FixtureRequest, approves: bool
    ) -> AsyncIterator[Approver]:
        answer = ElicitResult(action="accept", content={"approve": approves})
        called: asyncio.Future[ClientApprover] = asyncio.get_running_loop().create_future()
        over = asyncio.Event()

        async def call(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
            called.set_result(ClientApprover(ctx))
            await over.wait()
            return CallToolResult(content=[TextContent(type="text", text="done")])

        async def listed(ctx: Any, params: object) -> ListToolsResult:
            return ListToolsResult(tools=[])

        async def elicited(context: object, params: object) -> ElicitResult:
            await asyncio.sleep(0)
            return answer

        async def person(approver: ClientApprover) -> None:
            """The user of a client that calls again with the answer."""
            while True:
                await approver.needs_input.wait()
                approver.answer(answer)
                await asyncio.sleep(0)

        async def connected() -> None:
            server: Server[Any] = Server("s", on_call_tool=call, on_list_tools=listed)
            async with Client(server, mode=request.param, elicitation_callback=elicited) as client:
                await client.call_tool("t", {})

        client = asyncio.ensure_future(connected())
        approver = await called
        user = asyncio.ensure_future(person(approver))
        yield approver
        user.cancel()
        over.set()
        await client
