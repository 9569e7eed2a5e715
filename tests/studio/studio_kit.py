"""A studio on a port of its own, over a world in memory or in a folder."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from uvicorn import Config, Server

from artificer.studio.access import Access
from artificer.studio.app import studio
from artificer.studio.identity import ProxyIdentity
from artificer.studio.tokens import ApiTokens
from artificer.world import World


class Studio:
    """A served studio. ``url`` has no slash at its end; ``key`` opens it."""

    def __init__(self, world: World, port: int, access: Access) -> None:
        self.world = world
        self.port = port
        self.access = access
        self.key = access.key
        self.url = f"http://127.0.0.1:{port}"


@asynccontextmanager
async def serving(
    world: World, *, tokens: ApiTokens | None = None, identity: ProxyIdentity | None = None
) -> AsyncIterator[Studio]:
    """Serve a world as the command does."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    access = Access("Ada", tokens=tokens, identity=identity)
    app = studio(world, access, [f"127.0.0.1:{port}"])
    config = Config(
        app,
        proxy_headers=False,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    server = Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield Studio(world, port, access)
    finally:
        server.should_exit = True
        await task


async def entered(page: Any, studio: Studio) -> None:
    """Open the studio in a browser, with its key."""
    await page.goto(f"{studio.url}/?key={studio.key}")
