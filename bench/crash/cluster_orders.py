"""The agent of workers that are killed, and the world outside, which knows what really happened.

A run places one order: it charges for it, which cannot be asked about later, and books it, with a
probe, at a registry that rejects older fencing tokens. What happened is fsynced into the folder
`$CRASH_OUTSIDE`, of which the runtime knows nothing.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from artificer import Agent, Limits, RunContext, tool
from artificer.testing import ScriptedProvider, call, reply
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply

OUTSIDE = "CRASH_OUTSIDE"
"""The environment variable that names the folder of what really happened."""

CHARGES, BOOKINGS = "charges", "bookings"

NAME = "cluster_orders:agent"

PAUSE_S = 0.15
"""How long a call takes before what it does, and after it."""

RECEIPT_BYTES = 20_000
"""A receipt is twice as long: too long for the database, so it goes to the object store."""


def append(ledger: str, line: dict[str, Any]) -> None:
    """Add a line to a ledger, durably."""
    path = Path(os.environ[OUTSIDE]) / f"{ledger}.jsonl"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(handle, json.dumps(line).encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def lines(folder: Path, ledger: str) -> list[Any]:
    """The lines of a ledger."""
    path = folder / f"{ledger}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def receipt(order: str) -> str:
    """A long text that only this order has."""
    return hashlib.shake_256(order.encode()).hexdigest(RECEIPT_BYTES)


@tool(effect="once")
async def charge(ctx: RunContext[None], order: str) -> str:
    """Charge for an order."""
    await asyncio.sleep(PAUSE_S)
    append(CHARGES, {"order": order, "run": ctx.run_id, "key": ctx.key, "token": ctx.fencing_token})
    await asyncio.sleep(PAUSE_S)
    return f"charged {order}: {receipt(order)}"


@contextmanager
def asked(ctx: RunContext[None]) -> Iterator[bool]:
    """Ask the registry, which admits one at a time; yield whether it has the booking.

    Raises PermissionError for a token that is older than another one which it has seen.
    """
    with (Path(os.environ[OUTSIDE]) / f"registry-{ctx.key}").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        seen = [line.split() for line in file]
        if any(int(token) > ctx.fencing_token for _, token in seen):
            raise PermissionError("An older owner.")
        file.write(f"asked {ctx.fencing_token}\n")
        file.flush()
        yield any(what == "booked" for what, _ in seen)
        file.flush()


def has_booked(ctx: RunContext[None], order: str) -> bool:
    """Ask the registry."""
    with asked(ctx) as booked:
        return booked


@tool(effect="once", probe=has_booked, fenced=True)
async def book(ctx: RunContext[None], order: str) -> str:
    """Book an order."""
    await asyncio.sleep(PAUSE_S)
    with asked(ctx):
        append(BOOKINGS, {"order": order, "run": ctx.run_id, "key": ctx.key})
        with (Path(os.environ[OUTSIDE]) / f"registry-{ctx.key}").open("a") as file:
            file.write(f"booked {ctx.fencing_token}\n")
    await asyncio.sleep(PAUSE_S)
    return f"booked {order}"


def answer(body: JsonObject) -> ModelReply | str:
    """Charge for the order that the prompt names, then book it."""
    messages = body["messages"]
    assert isinstance(messages, list)
    order = str(messages[0]).partition("order ")[2].partition(".")[0]
    steps = (call("charge", order=order), call("book", order=order))
    replies = sum("'role': 'assistant'" in str(message) for message in messages)
    return reply(steps[replies]) if replies < len(steps) else "Done."


agent = Agent(
    ScriptedProvider(answer), kind="chat", tools=[charge, book], limits=Limits(wall_ms=3_600_000)
)
