"""The agent of the tests that kill workers: each run makes one charge, which must not be repeated.

A charge writes a line to `ledger`, and goes on while there is a file `hold`.
"""

from __future__ import annotations

import asyncio
import os

from artificer import Agent, Limits, tool
from artificer.testing import ScriptedProvider, call, reply
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply


@tool(effect="once")
async def charge(order: str) -> str:
    """Charge an order."""
    ledger = os.open("ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(ledger, f"{order}\n".encode())
    os.fsync(ledger)
    os.close(ledger)
    while True:
        if not os.access("hold", os.F_OK):
            return "charged"
        await asyncio.sleep(0.02)


def answer(body: JsonObject) -> ModelReply | str:
    """Charge the order that the prompt names; then say what became of it."""
    messages = body["messages"]
    assert isinstance(messages, list)
    if len(messages) > 1:
        return "Done."
    return reply(call("charge", order=str(messages[0]).partition("order ")[2][:2]))


agent = Agent(
    ScriptedProvider(answer), kind="chat", tools=[charge], limits=Limits(wall_ms=3_600_000)
)
