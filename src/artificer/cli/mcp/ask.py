"""Asking the user of an MCP client: when the policy says ``ask``, an elicitation for this call.

Clients of protocols up to 2025-11-25 are asked while their call is in progress. A later one gets
the answer that input is required, and calls again with it: the run waits meanwhile. The token that
identifies the waiting run is valid for one answer to exactly the same call.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from artificer.ports import Answer, Question
from artificer.values.base import JsonObject
from artificer.values.text import head_and_tail

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.types import ElicitRequest, ElicitResult

ANSWER_SECONDS = 600.0
"""Seconds that the user has to answer."""

MAX_SHOWN = 8_000
"""Characters of the arguments that the user sees."""

INPUT = "approval"
"""The name of the input that a client of a later protocol must provide."""

_FORM: JsonObject = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Approve",
            "description": "Let this one call happen, exactly as it is shown.",
        }
    },
    "required": ["approve"],
}

_UNABLE = "Nobody can be asked: the client does not support elicitation."
_LATE = "Nobody answered in time."


def elicitation(question: Question) -> ElicitRequest:
    """Return the question that the client's user sees."""
    from mcp.types import ElicitRequest, ElicitRequestFormParams

    shown = head_and_tail(question.arguments, MAX_SHOWN)
    why = f"\n\nReason: {question.reason}" if question.reason else ""
    message = f"Allow this call of {question.tool}?\n\n{shown}{why}"
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=_FORM))


@dataclass
class ClientApprover:
    """Asks the user of the client that made one call. One question at a time.

    ``needs_input`` is set while a client of a later protocol must ask its user.
    """

    ctx: ServerRequestContext[Any, Any]
    needs_input: asyncio.Event = field(default_factory=asyncio.Event)
    request: ElicitRequest | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _answered: asyncio.Future[ElicitResult | None] | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, question: Question) -> Answer:
        """Wait for the answer; without one in time, the call is denied."""
        if not _can_ask(self.ctx):
            return Answer(approved=False, by="nobody", reason=_UNABLE)
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._turn:
                result = await self._result(elicitation(question))
        except TimeoutError:
            return Answer(approved=False, by="nobody", reason=_LATE)
        return _read(result, self._user())

    def answer(self, result: ElicitResult | None) -> None:
        """Deliver the answer of the client's user, which arrived in its own call."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(result)

    async def _result(self, request: ElicitRequest) -> ElicitResult | None:
        from mcp import MCPError
        from mcp.types import ElicitResult

        if not self.ctx.session.can_send_request:
            return await self._called_again(request)
        try:
            related = self.ctx.request_id
            form = request.params
            return await self.ctx.session.elicit_form(form.message, _FORM, related)
        except MCPError:  # it claims that it can, and cannot
            return ElicitResult(action="cancel")

    async def _called_again(self, request: ElicitRequest) -> ElicitResult | None:
        """Wait for the call that brings the answer."""
        self._answered = asyncio.get_running_loop().create_future()
        self.request = request
        self.needs_input.set()
        try:
            return await self._answered
        finally:
            self.request = None
            self.needs_input.clear()

    def _user(self) -> str:
        client = self.ctx.session.client_params
        return f"the user of {client.client_info.name}" if client else "the client's user"


def _can_ask(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client shows forms. One that names no kinds shows these."""
    capabilities = ctx.session.client_capabilities
    kinds = capabilities.elicitation if capabilities else None
    return kinds is not None and (kinds.form is not None or kinds.url is None)


def _read(result: ElicitResult | None, user: str) -> Answer:
    if result is None or result.action == "cancel":
        return Answer(approved=False, by=user, reason="The question was dismissed.")
    approved = result.action == "accept" and (result.content or {}).get("approve") is True
    return Answer(approved=approved, by=user, reason="" if approved else "It was declined.")
