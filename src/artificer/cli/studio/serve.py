"""``artificer studio``: serve the studio until it is interrupted."""

from __future__ import annotations

import asyncio
import socket
import webbrowser
from importlib.util import find_spec

from artificer.cli.commands.studio import StudioOptions
from artificer.cli.interruptible import interruptible
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.errors import MissingExtraError, OperatorError

HOST = "127.0.0.1"
GRACE_S = 3
"""Seconds that open pages get to end when the studio stops."""


@interruptible
async def serve(settings: Settings, options: StudioOptions) -> Exit:
    """Serve this project's world. Raises OperatorError where the port is taken."""
    for needed in ("starlette", "uvicorn", "multipart"):
        if find_spec(needed) is None:
            raise MissingExtraError("studio", needed_for="The studio")
    from uvicorn import Config, Server

    from artificer.studio.access import Access
    from artificer.studio.app import studio

    listening = _listening(options.port)
    port = listening.getsockname()[1]
    access = Access(user_name())
    hosts = [f"{name}:{port}" for name in (HOST, "localhost")]
    async with opened_world(settings, options) as world:
        address = f"http://{HOST}:{port}/?key={access.key}"
        out(address)
        note("Ctrl-C stops the studio")
        if options.open_browser:
            await asyncio.to_thread(webbrowser.open, address)
        config = Config(
            studio(world, access, hosts),
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE_S,
        )
        server = Server(config)
        try:
            await server.serve(sockets=[listening])
        finally:
            server.should_exit = True
    return Exit.OK


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise OperatorError(
            f"Port {port} cannot be used: {error.strerror}.", hint="Choose another: --port 0"
        ) from error
