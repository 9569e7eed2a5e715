"""The shortest way in: a run in this project's world, for a program that has no event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec

from artificer.errors import AuthorError
from artificer.runs import Run
from artificer.world import World

P = ParamSpec("P")


def _blocking(
    method: Callable[Concatenate[World, P], Coroutine[Any, Any, Run]],
) -> Callable[P, Run]:
    """The same without ``await``. Raises AuthorError where a loop runs already (a notebook)."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> Run:
        name = method.__name__
        if _in_a_loop():
            raise AuthorError(
                f"artificer.{name}() was called where an event loop runs already.",
                hint="There, write: async with await artificer.World.open() as world: "
                f"await world.{name}(…)",
            )

        async def go() -> Run:
            async with await World.open() as world:
                return await method(world, *args, **kwargs)

        return asyncio.run(go())

    return call


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


run = _blocking(World.run)
resume = _blocking(World.resume)
