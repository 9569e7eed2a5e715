"""``artificer worker``: execute submitted runs until a signal stops it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress

from artificer.cli.commands.worker import ServeOptions
from artificer.cli.configuration import configuration
from artificer.cli.execution.agents import load_agent
from artificer.cli.json_log import start_log
from artificer.cli.settings import Settings
from artificer.cli.terminal.exits import Exit
from artificer.cli.worker.measured import health_of, health_over_http, served
from artificer.config import Config
from artificer.dispatch.agents import Agents
from artificer.dispatch.kinds import open_dispatcher
from artificer.dispatch.over_http import HttpWorker
from artificer.dispatch.worker import Worker, WorkerOptions
from artificer.errors import ConfigError
from artificer.world import World, storage_of

log = logging.getLogger("artificer.worker")


async def serve(settings: Settings, options: ServeOptions) -> Exit:
    """Work until SIGINT or SIGTERM. Raises ConfigError, OperatorError."""
    config = configuration(settings, options)
    shared = config.worker
    config = config.replace(
        storage=options.api or options.world or config.storage,
        worker=shared.replace(dispatcher=options.dispatcher or shared.dispatcher),
    )
    places = dict.fromkeys([*shared.agents, *config.studio.agents, *options.agents])
    agents = {place: load_agent(place) for place in places}
    start_log()
    if options.api:
        return await _serve_api(config, options, agents)
    async with (
        World.open(config) as world,
        aclosing(await open_dispatcher(config, world)) as dispatcher,
    ):
        working = WorkerOptions(
            slots=options.slots or shared.slots,
            until_idle=options.until_idle,
            grace_s=shared.grace_seconds if options.grace is None else options.grace,
        )
        worker = Worker(world, dispatcher, agents, working)
        await storage_of(world).owner.ready()  # a role that may not work ends it here
        kind = config.worker.dispatcher.partition(":")[0]
        async with served(health_of(world, worker), options.health) as health:
            log.info("ready", extra={"slots": working.slots, "dispatcher": kind, **health})
            with suppress(asyncio.CancelledError):  # a signal has stopped it, in order
                await worker.run()
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
    return Exit.OK


async def _serve_api(config: Config, options: ServeOptions, agents: Agents) -> Exit:
    """Work for a studio over HTTP. Raises ConfigError, AccessError, OperatorError."""
    if options.world or options.dispatcher or options.until_idle:
        raise ConfigError(
            "--api cannot be combined with --world, --dispatcher or --until-idle.",
            hint="The studio has the world, and hands out its runs.",
        )
    slots = options.slots or config.worker.slots
    grace = config.worker.grace_seconds if options.grace is None else options.grace
    if not str(options.api).startswith(("https://", "http://")):
        raise ConfigError(
            f"--api {options.api}: that is not the address of a studio.",
            hint="https://HOST, or http://127.0.0.1:PORT on the studio's own machine.",
        )
    async with World.open(config) as world:
        worker = HttpWorker(world, agents)
        async with served(health_over_http(world, worker), options.health) as health:
            log.info("ready", extra={"slots": slots, "dispatcher": "http", **health})
            with suppress(asyncio.CancelledError):  # a signal has stopped it, in order
                await worker.run(slots, grace)
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
    return Exit.OK
