"""OpenAI Agents SDK: an SQLite session; approval by a stored ``RunState``.

A session is what it has for a run that outlives its process. There is no call that resumes one
which died: the same session is run again, with no input where it holds that already.
"""

from __future__ import annotations

import json
from importlib.metadata import version as version_of
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, RunState, SQLiteSession, Usage
from agents import function_tool as tool
from agents.models.interface import Model
from agents.testing import assistant_message, function_call
from outside import NothingToResumeError, Outside, WaitingError

NAME = "OpenAI Agents"
WARM = True
CHILDREN = False
PROBES = False
NOT: dict[str, str] = {}


def version() -> str:
    return version_of("openai-agents")


def told(items: list[Any]) -> list[tuple[str, str]]:
    results = {
        i["call_id"]: str(i["output"]) for i in items if i.get("type") == "function_call_output"
    }
    calls = [i for i in items if i.get("type") == "function_call" and i["call_id"] in results]
    return [(json.loads(i["arguments"])["order"], results[i["call_id"]]) for i in calls]


class Scripted(Model):
    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        given = kwargs["input"] if "input" in kwargs else args[1]
        items = given if isinstance(given, list) else []
        turns, before = 0, ""
        for item in items:  # calls that stand together are one reply
            kind = item.get("type", "message")
            turns += kind == "function_call" and before != "function_call"
            before = kind
        said = self._outside.model(turns, told(items))
        calls = [function_call("charge", {"order": o}, call_id=id_) for id_, o in said.calls]
        output = calls or [assistant_message(said.text)]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def drive(outside: Outside) -> None:
    @tool(needs_approval=outside.approval)
    async def charge(order: str) -> str:
        """Charge for an order."""
        return await outside.charge(order)

    agent = Agent(name="clerk", model=Scripted(outside), tools=[charge])
    session = SQLiteSession("run", outside.state / "session.db")
    paused = outside.state / "paused.json"
    given: Any = "Go."
    if outside.resumed:
        items = await session.get_items()
        if paused.exists():
            given = await RunState.from_string(agent, paused.read_text())
            for item in given.get_interruptions():
                given.approve(item)
        elif not items:
            raise NothingToResumeError
        elif items[-1].get("role") == "assistant" or items[-1].get("type") == "message":
            return
        else:
            given = []
    config = RunConfig(tracing_disabled=True)
    result = await Runner.run(agent, given, session=session, run_config=config)
    if result.interruptions:
        paused.write_text(result.to_state().to_string())
        raise WaitingError
