"""Asking the user of an MCP client: where policy says ``ask``, an elicitation, for this one call.

Clients of protocols up to 2025-11-25 are asked while their call goes on. A later one is answered
that input is required, and calls again with it: the run waits meanwhile, and the token that it is
found by again is good for one answer to the very same call.
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
"""Seconds in which a person must answer."""

MAX_SHOWN = 8_000
"""Characters of the arguments that a person is shown."""

INPUT = "approval"
"""What the input is called that a later protocol's client is asked for."""

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

_UNABLE = "There is nobody here to ask: the client does not support elicitation."
_LATE = "Nobody answered in time."


def elicitation(question: Question) -> ElicitRequest:
    """What the client's user is shown."""
    from mcp.types import ElicitRequest, ElicitRequestFormParams

    shown = head_and_tail(question.arguments, MAX_SHOWN)
    why = f"\n\nYou are asked because: {question.reason}" if question.reason else ""
    message = f"Allow this call of {question.tool}?\n\n{shown}{why}"
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=_FORM))


@dataclass
class ClientApprover:
    """Asks the user of the client that made one call.

    ``asked`` is set as long as a client of a later protocol has to be told that it must ask.
    """

    ctx: ServerRequestContext[Any, Any]
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    request: ElicitRequest | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _answered: asyncio.Future[ElicitResult | None] | None = None

    async def ask(self, question: Question) -> Answer:
        """Wait for the answer; none in time, and none to be had, is a no."""
        if not _can_ask(self.ctx):
            return Answer(approved=False, by="nobody", reason=_UNABLE)
        self.request = elicitation(question)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                result = await self._result(self.request)
        except TimeoutError:
            return Answer(approved=False, by="nobody", reason=_LATE)
        finally:
            self.request = None
            self.asked.clear()
        return _read(result, self._user())

    def answer(self, result: ElicitResult | None) -> None:
        """Bring what the client's user has said, in a call of its own."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(result)

    async def _result(self, request: ElicitRequest) -> ElicitResult | None:
        from mcp import MCPError
        from mcp.types import ElicitResult

        if not self.ctx.session.can_send_request:
            self._answered = asyncio.get_running_loop().create_future()
            self.asked.set()
            return await self._answered
        try:
            related = self.ctx.request_id
            form = request.params
            return await self.ctx.session.elicit_form(form.message, _FORM, related)
        except MCPError:  # it said that it can, and cannot
            return ElicitResult(action="cancel")

    def _user(self) -> str:
        client = self.ctx.session.client_params
        return f"the user of {client.client_info.name}" if client else "the client's user"


def _can_ask(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client shows forms. One that says nothing of the kinds shows these."""
    capabilities = ctx.session.client_capabilities
    kinds = capabilities.elicitation if capabilities else None
    return kinds is not None and (kinds.form is not None or kinds.url is None)


def _read(result: ElicitResult | None, user: str) -> Answer:
    if result is None or result.action == "cancel":
        return Answer(approved=False, by=user, reason="The question was dismissed.")
    approved = result.action == "accept" and (result.content or {}).get("approve") is True
    return Answer(approved=approved, by=user, reason="" if approved else "It was declined.")
