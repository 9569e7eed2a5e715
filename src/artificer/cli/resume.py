"""``artificer resume``: go on where a run's journal ends."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.cli.approve import terminal_approver
from artificer.cli.drive import in_world
from artificer.cli.exits import Exit, Interrupted
from artificer.cli.outcome import Wish, hand_over
from artificer.cli.progress import Progress
from artificer.cli.run import FOLDER, say_interrupted
from artificer.cli.screen import new_screen
from artificer.cli.settings import Settings, pass_settings
from artificer.world import World


@click.command(name="resume")
@click.argument("run")
@click.option("--tools", type=FOLDER, multiple=True, help="A folder of tools that has moved.")
@click.option("--out", type=FOLDER, help="Write report.html, report.md and artifacts here too.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.option(
    "--local-model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A GGUF file for the provider `local`.",
)
@pass_settings
def command(
    settings: Settings,
    run: str,
    tools: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
    local_model: Path | None,
) -> int:
    """Go on with RUN after Ctrl-C, a crash, or a model that could not be reached.

    What is recorded is not done again: no model reply is paid for twice, and a call that may have
    happened is repeated only if its tool says that this is harmless. A finished run is handed over
    once more.

    \b
    Example:
      artificer resume last
    """
    screen = new_screen(verbose=settings.verbose)
    progress = Progress(screen)
    found: list[str] = []

    async def work(world: World) -> Exit:
        found.append(await world.find(run))
        done = await world.resume(
            found[0], tools=tools, approver=terminal_approver(screen), observer=progress
        )
        screen.close()
        return hand_over(world, done, progress.failure, Wish(out, as_json))

    try:
        return in_world(settings, work, local_model=local_model)
    except Interrupted:
        screen.close()
        say_interrupted(progress, found[0] if found else run)
        raise
    finally:
        screen.close()
