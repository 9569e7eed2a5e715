"""The command that executes what other processes submitted."""

from __future__ import annotations

import click

from artificer.cli.commands.shared import ExecutionOptions
from artificer.cli.declare import Command, option, options


@options
class ServeOptions(ExecutionOptions):
    """Execute the runs that were submitted with `artificer run --submit`, until it is stopped.

    Start as many as you like, on any machine that reaches the world: each run is executed by one of
    them at a time. When a worker dies, another one continues its runs; what may have happened
    already is not repeated. A run that waits for a person takes no slot, and goes on after
    `artificer approve`, wherever that is called.

    The limits of lanes ([worker] lanes) and of requests to models ([requests]) hold for all workers
    of a world in PostgreSQL together; in a folder, and with --api, for each by itself.

    Ctrl-C or SIGTERM stops it in order: nothing new is begun, runs under way get --grace seconds,
    and the others are released where they are. A second signal stops it at once. The log is on
    stderr: one JSON object a line.

    \b
    Examples:
      artificer worker
      artificer worker --slots 32 --agent triage:agent
      artificer worker --until-idle
      artificer worker --api https://studio.example.org
      artificer worker --world "postgresql://db/artificer" --dispatcher temporal
    """

    slots: int | None = option(
        type=click.IntRange(1, 1000), help="Runs that are executed at once. Default: 8."
    )
    agents: tuple[str, ...] = option(
        "--agent",
        metavar="MODULE:NAME",
        multiple=True,
        help="Execute runs of this Agent of a Python module, here or installed; repeatable.",
    )
    dispatcher: str | None = option(
        metavar="URL", help="How runs are handed out: local (default), or temporal://HOST:PORT."
    )
    world: str | None = option(
        metavar="URL", help="Where the world is stored. Default: the setting `storage`."
    )
    health: str | None = option(
        metavar="HOST:PORT",
        help="Answer /healthz, /readyz and /metrics there. Without a host: this machine only.",
    )
    api: str | None = option(
        metavar="URL",
        help="Lease runs from the studio at this address, with the token in ARTIFICER_API_TOKEN.",
    )
    until_idle: bool = option(is_flag=True, help="Stop when no submitted run can go on by itself.")
    grace: float | None = option(
        type=click.FloatRange(0, 86_400),
        metavar="SECONDS",
        help="How long runs may go on when the worker is stopped. Default: 25.",
    )


worker = Command("worker", ServeOptions, "worker.serve:serve")
