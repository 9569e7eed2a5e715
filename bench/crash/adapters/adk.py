"""Google ADK: a resumable app, its SQLite sessions, ``run_async`` with the invocation's id.

Approval by ``require_confirmation``, answered with a function response.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from importlib.metadata import version as version_of
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool
from google.genai import types
from outside import NothingToResumeError, Outside, WaitingError

NAME = "Google ADK"
WARM = True
CHILDREN = False
PROBES = False
NOT: dict[str, str] = {}
CONFIRM = "adk_request_confirmation"
WHO = {"user_id": "somebody", "session_id": "run"}


def version() -> str:
    return version_of("google-adk")


def told(contents: list[types.Content]) -> list[tuple[str, str]]:
    parts = [part for content in contents for part in content.parts or []]
    returned = [p.function_response for p in parts if p.function_response]
    results = {r.id: str((r.response or {}).get("result", r.response)) for r in returned}
    calls = [p.function_call for p in parts if p.function_call and p.function_call.id in results]
    return [((c.args or {})["order"], results[c.id]) for c in calls]


class Scripted(BaseLlm):
    outside: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        contents = llm_request.contents
        said = self.outside.model(sum(c.role == "model" for c in contents), told(contents))
        calls = [
            types.Part(
                function_call=types.FunctionCall(id=id_, name="charge", args={"order": order})
            )
            for id_, order in said.calls
        ]
        parts = calls or [types.Part(text=said.text)]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


async def drive(outside: Outside) -> None:
    async def charge(order: str) -> str:
        """Charge for an order."""
        return await outside.charge(order)

    agent = LlmAgent(
        name="clerk",
        model=Scripted(model="scripted", outside=outside),
        tools=[FunctionTool(charge, require_confirmation=outside.approval)],
    )
    config = ResumabilityConfig(is_resumable=True)
    app = App(name="bench", root_agent=agent, resumability_config=config)
    sessions = SqliteSessionService(str(outside.state / "sessions.db"))
    runner = Runner(app=app, session_service=sessions)
    session = await sessions.get_session(app_name="bench", **WHO)
    given: dict[str, Any] = {
        "new_message": types.Content(role="user", parts=[types.Part(text="Go.")])
    }
    if session is None:
        if outside.resumed:
            raise NothingToResumeError
        await sessions.create_session(app_name="bench", **WHO)
    elif outside.resumed:
        if not session.events:
            raise NothingToResumeError
        given = {"invocation_id": session.events[-1].invocation_id}
        asked = [c for event in session.events for c in event.get_function_calls()]
        waiting = [c for c in asked if c.name == CONFIRM]
        replied = [r.id for event in session.events for r in event.get_function_responses()]
        if outside.plan.approve and waiting and waiting[-1].id not in replied:
            yes = types.FunctionResponse(
                id=waiting[-1].id, name=CONFIRM, response={"confirmed": True}
            )
            parts = [types.Part(function_response=yes)]
            given["new_message"] = types.Content(role="user", parts=parts)
    confirming = False
    async for event in runner.run_async(**WHO, **given):
        confirming |= any(call.name == CONFIRM for call in event.get_function_calls())
    if confirming:
        raise WaitingError
