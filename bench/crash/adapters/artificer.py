"""Artificer: ``World.run`` with an id, then ``World.resume``; approval is a letter to the run."""

from __future__ import annotations

import json
from importlib.metadata import version as version_of
from typing import Any

from outside import NothingToResumeError, Outside, WaitingError

import artificer
from artificer.errors import NotFoundError
from artificer.providers.scripted import ScriptedProvider, reply, say
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolUseBlock
from artificer.values.model import ModelReply

NAME = "Artificer"
WARM = True
NOT: dict[str, str] = {}
ASK = artificer.Policy(rules=(artificer.Rule(decision="ask", tool="charge"),))


def version() -> str:
    return version_of("artificer")


def told(messages: Any) -> list[tuple[str, str]]:
    blocks = [block for message in messages for block in message["blocks"]]
    results = {b["tool_use_id"]: b["content"] for b in blocks if b["type"] == "tool_result"}
    calls = [b for b in blocks if b["type"] == "tool_use" and b["id"] in results]
    return [(json.loads(b["arguments"])["order"], results[b["id"]]) for b in calls]


async def drive(outside: Outside) -> None:
    def answer(body: JsonObject) -> ModelReply:
        messages: Any = body["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        said = outside.model(turn, told(messages))
        calls = [
            ToolUseBlock(id=id_, name="charge", arguments=json.dumps({"order": order}))
            for id_, order in said.calls
        ]
        return reply(*calls) if calls else say(said.text)

    @artificer.tool(effect="once")
    async def charge(order: str) -> str:
        """Charge for an order."""
        return await outside.charge(order)

    model = ScriptedProvider(answer)
    config = artificer.Config(home=outside.state, project="bench")
    async with await artificer.World.open(config) as world:
        if not outside.resumed:
            policy = ASK if outside.approval else None
            run = await world.run("Go.", model=model, tools=[charge], policy=policy, run_id="run")
        else:
            try:
                if outside.plan.approve:
                    for question in (await world.get("run")).run.questions:
                        await world.send(
                            "run", artificer.AnswerCall(call=question.digest, approved=True)
                        )
                run = await world.resume("run", model=model, tools=[charge])
            except NotFoundError as error:
                raise NothingToResumeError from error
    if run.status == "waiting":
        raise WaitingError
    assert run.status == "completed", run.status
