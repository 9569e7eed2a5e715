"""The command that executes what other processes submitted."""

from __future__ import annotations

from artificer.cli.commands.numbers import RealOption, WholeOption
from artificer.cli.commands.shared import ExecutionOptions
from artificer.cli.declare import Command, option, options


@options
class ServeOptions(ExecutionOptions):
    """Execute runs submitted with `artificer run --submit`, until stopped.

    Start as many as you like, on any machine that reaches the world: only one of them executes a
    run at a time. When a worker dies, another one continues its runs; what may have happened
    already is not repeated. A run that waits for a person takes no slot, and continues after
    `artificer approve`, wherever you run that.

    All workers of a world share the limits on lanes ([worker] lanes) and on requests to models
    ([requests]).

    Ctrl-C or SIGTERM shuts it down cleanly: it starts nothing new, runs in progress get --grace
    seconds, and unfinished ones are released. A second signal stops it at once. The log goes to
    stderr: one JSON object per line.

    \b
    Examples:
      artificer worker
      artificer worker --slots 32 --agent triage:agent
      artificer worker --until-idle
      artificer worker --api https://studio.example.org
      artificer worker --world "postgresql://db/artificer" --dispatcher temporal
    """

    slots: int | None = option(
        type=WholeOption(1, 1000), help="How many runs to execute at once. Default: 8."
    )
    agents: tuple[str, ...] = option(
        "--agent",
        metavar="MODULE:NAME",
        multiple=True,
        help="Execute runs of this Agent in a Python module, here or installed; repeatable.",
    )
    dispatcher: str | None = option(
        metavar="URL", help="How runs are handed out: local (default), or temporal://HOST:PORT."
    )
    world: str | None = option(
        metavar="URL", help="Where the world is stored. Default: the setting `storage`."
    )
    health: str | None = option(
        metavar="HOST:PORT",
        help="Serve /healthz, /readyz and /metrics there. Without a host: this machine only.",
    )
    api: str | None = option(
        metavar="URL",
        help="Lease runs from the studio at this address, with the token in ARTIFICER_API_TOKEN.",
    )
    until_idle: bool = option(is_flag=True, help="Stop when no submitted run can proceed alone.")
    grace: float | None = option(
        type=RealOption(0, 86_400),
        metavar="SECONDS",
        help="How long runs may continue when the worker is stopped. Default: 25.",
    )


worker = Command("worker", ServeOptions, "worker.serve:serve")
