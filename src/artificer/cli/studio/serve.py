"""``artificer studio``: serve the studio until it is interrupted."""

from __future__ import annotations

import asyncio
import logging
import sys
import webbrowser
from importlib.util import find_spec

from artificer.cli.commands.studio import StudioOptions
from artificer.cli.execution.agents import load_agent
from artificer.cli.json_log import start_log
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.errors import MissingExtraError

log = logging.getLogger("artificer.studio")

GRACE_S = 3
"""Seconds that open pages get to end when the studio stops."""


async def serve(settings: Settings, options: StudioOptions) -> Exit:
    """Serve this project's world. Raises OperatorError for a taken port, NotFoundError."""
    for needed in ("starlette", "uvicorn", "multipart"):
        if find_spec(needed) is None:
            raise MissingExtraError("studio", needed_for="The studio")
    from uvicorn import Config, Server
    from uvicorn.config import LOGGING_CONFIG

    from artificer.cli.execution.listening import listen
    from artificer.cli.studio.listening import check_host, names_of
    from artificer.studio.access import Access
    from artificer.studio.app import studio
    from artificer.studio.identity import ProxyIdentity
    from artificer.studio.tokens import ApiTokens

    as_json = options.log_format == "json"
    if as_json:
        start_log("uvicorn")
        settings = settings._replace(verbose=False)
    async with opened_world(settings, options) as world:
        shared, host = world.config.studio, options.host
        first = f"runs/{await world.archive.find(options.run)}" if options.run else ""
        tokens = ApiTokens(world.config.project_folder, world.clock.now)
        check_host(host, shared, tokens)
        places = dict.fromkeys([*shared.agents, *options.agents])
        agents = {place: load_agent(place) for place in places}
        listening = listen("The studio", host, options.port, hint="Choose another port: --port 0")
        port = listening.getsockname()[1]
        identity = ProxyIdentity(shared.identity_header, shared.proxies, shared.identity_rights)
        access = Access(user_name(), tokens=tokens, identity=identity)
        hosts = names_of(host, port, shared.hosts)
        name = next((n for n in (f"{host}:{port}", f"[{host}]:{port}") if n in hosts), None)
        address = f"http://{name or f'127.0.0.1:{port}'}/"
        opening = f"{address}{first}?key="
        out(opening + access.key)
        sys.stdout.flush()  # a program that starts the studio waits for its address
        if as_json:
            log.info("ready", extra={"address": address})
        else:
            note("Ctrl-C stops the studio")
        if options.open_browser:
            await asyncio.to_thread(webbrowser.open, opening + access.single_key())
        config = Config(
            studio(world, access, hosts, agents),
            proxy_headers=False,  # anybody can write them: see ProxyIdentity
            server_header=False,
            log_level="warning",
            log_config=None if as_json else LOGGING_CONFIG,
            access_log=False,
            timeout_graceful_shutdown=GRACE_S,
        )
        server = Server(config)
        try:
            await server.serve(sockets=[listening])
        finally:
            server.should_exit = True
            if as_json:
                log.info("stopped")
    return Exit.OK
