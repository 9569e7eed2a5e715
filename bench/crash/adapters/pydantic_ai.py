"""Pydantic AI with the Harness's StepPersistence: ``continue_run``, and the history it returns.

Its README leaves it to the caller what becomes of effects that its ledger knows only to have begun;
nobody is there to ask, so the run is continued. Approval by deferred tools.
"""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Any

from outside import NothingToResumeError, Outside, WaitingError
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness import StepPersistence
from pydantic_ai_harness.step_persistence import SqliteStepStore, continue_run

NAME = "Pydantic AI + Harness"
WARM = True
CHILDREN = False
PROBES = False
NOT: dict[str, str] = {}


def version() -> str:
    return f"{version_of('pydantic-ai-slim')} + {version_of('pydantic-ai-harness')}"


def told(messages: list[ModelMessage]) -> list[tuple[str, str]]:
    parts: list[Any] = [part for message in messages for part in message.parts]
    results = {p.tool_call_id: str(p.content) for p in parts if isinstance(p, ToolReturnPart)}
    calls = [p for p in parts if isinstance(p, ToolCallPart) and p.tool_call_id in results]
    return [(p.args_as_dict()["order"], results[p.tool_call_id]) for p in calls]


async def drive(outside: Outside) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = outside.model(sum(isinstance(m, ModelResponse) for m in messages), told(messages))
        calls = [ToolCallPart("charge", {"order": o}, tool_call_id=id_) for id_, o in said.calls]
        return ModelResponse(parts=calls or [TextPart(said.text)])

    store = SqliteStepStore(database=str(outside.state / "steps.db"))
    agent: Any = Agent(
        FunctionModel(model),
        output_type=[str, DeferredToolRequests],
        capabilities=[StepPersistence(store=store, agent_name="clerk")],
    )

    @agent.tool_plain(requires_approval=outside.approval)
    async def charge(order: str) -> str:
        """Charge for an order."""
        return await outside.charge(order)

    paused = outside.state / "paused.json"
    given: dict[str, Any] = {"user_prompt": "Go.", "conversation_id": "run"}
    if paused.exists():
        history = ModelMessagesTypeAdapter.validate_json(paused.read_bytes())
        calls = [p for p in history[-1].parts if isinstance(p, ToolCallPart)]
        results = DeferredToolResults(approvals={p.tool_call_id: True for p in calls})
        given = {"message_history": history, "deferred_tool_results": results}
    elif outside.resumed:
        runs = await store.list_runs(conversation_id="run")
        try:
            if not runs:
                raise LookupError("no run")
            given |= {"message_history": await continue_run(store, run_id=runs[-1].run_id)}
        except LookupError as error:
            raise NothingToResumeError from error
        given["user_prompt"] = "Continue."
    result = await agent.run(**given)
    if isinstance(result.output, DeferredToolRequests):
        paused.write_bytes(result.all_messages_json())
        raise WaitingError
