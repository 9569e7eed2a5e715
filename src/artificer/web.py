"""A world that stays open as long as a web application runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from artificer.world import World


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[dict[str, World]]:
    """Open the world of this project as long as an ASGI application runs.

    >>> app = FastAPI(lifespan=lifespan)

    Its handlers find the world as ``request.state.world``, in every framework that
    supports ASGI's lifespan state. For another world, use ``async with World.open(config)`` in your
    own lifespan. Raises what `World.open` raises.
    """
    async with World.open() as world:
        yield {"world": world}
