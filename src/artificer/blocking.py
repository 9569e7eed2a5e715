"""The shortest way in: a run in this project's world, for a program that has no event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar, Unpack

from artificer.agent import Agent, AgentFields
from artificer.errors import AuthorError
from artificer.ports import Approver
from artificer.runs import Run
from artificer.runtime.observe import Observer
from artificer.world import World

T = TypeVar("T")


def run(
    prompt: str,
    agent: Agent | None = None,
    *,
    approver: Approver | None = None,
    observer: Observer | None = None,
    run_id: str | None = None,
    **fields: Unpack[AgentFields],
) -> Run:
    """Run a prompt to its end and wait for it, as `World.run` does.

    The fields of an :class:`Agent` can be passed by themselves; they replace those of ``agent``.

    >>> run("Why is the sky blue?", model="local/smollm2").text

    Raises:
        AuthorError: an event loop is running already, as in a notebook.
    """
    agent = replace(agent or Agent(), **fields)
    return _in_world(
        "run",
        lambda world: world.run(prompt, agent, approver=approver, observer=observer, run_id=run_id),
    )


def resume(
    run_id: str,
    agent: Agent | None = None,
    *,
    approver: Approver | None = None,
    observer: Observer | None = None,
    take_over: bool = False,
    **fields: Unpack[AgentFields],
) -> Run:
    """Continue a run and wait for its end, as `World.resume` does. Raises AuthorError likewise."""
    agent = replace(agent or Agent(), **fields)
    return _in_world(
        "resume",
        lambda world: world.resume(
            run_id, agent, approver=approver, observer=observer, take_over=take_over
        ),
    )


def _in_world(name: str, work: Callable[[World], Awaitable[T]]) -> T:
    if _in_a_loop():
        raise AuthorError(
            f"artificer.{name}() was called where an event loop is running already.",
            hint=f"There, write: async with artificer.World.open() as world: await world.{name}(…)",
        )

    async def open_and_work() -> T:
        async with World.open() as world:
            return await work(world)

    return asyncio.run(open_and_work())


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
