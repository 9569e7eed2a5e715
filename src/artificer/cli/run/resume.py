"""``artificer resume``: go on where a run's journal ends."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.cli.common.attend import COMPAT, FOLDER, MODEL_FILE, UNATTENDED, attend
from artificer.cli.common.build_decide import decider_here
from artificer.cli.common.outcome import Wish
from artificer.cli.common.progress import Progress
from artificer.cli.common.settings import Settings, pass_settings
from artificer.ports import Approver
from artificer.runs import Run
from artificer.world import World


@click.command(name="resume")
@click.argument("run")
@click.option("--tools", type=FOLDER, multiple=True, help="A folder of tools that has moved.")
@click.option("--out", type=FOLDER, help="Write report.html, report.md and artifacts here too.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.option("--local-model", type=MODEL_FILE, help="A GGUF file for the provider `local`.")
@COMPAT
@click.option("--yes", is_flag=True, help="Approve the plan of a build unseen.")
@click.option(
    "--take-over",
    is_flag=True,
    help="Take RUN away from a living process. Its unfinished calls become ambiguous, but for pure"
    " ones.",
)
@click.option(
    "--total-tokens",
    type=click.IntRange(1),
    metavar="N",
    help="What all runs of a build may take together, with what they have taken.",
)
@UNATTENDED
@pass_settings
def command(
    settings: Settings,
    run: str,
    tools: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
    local_model: Path | None,
    compat: bool,
    yes: bool,
    take_over: bool,
    total_tokens: int | None,
    unattended: bool,
) -> int:
    """Go on with RUN after Ctrl-C, a crash, or a model that could not be reached.

    What is recorded is not done again: no model reply is paid for twice, and a call that may have
    happened is repeated only if its tool says that this is harmless. A finished run is handed over
    once more. A run that a living process drives is refused, and that process named.

    \b
    Example:
      artificer resume last
    """

    async def begin(world: World, progress: Progress, approver: Approver | None) -> Run:
        run_id = await world.find(run)
        return await world.resume(
            run_id,
            tools=tools,
            approver=approver,
            observer=progress,
            decider=decider_here(progress.screen, yes=yes),
            take_over=take_over,
            build_tokens=total_tokens,
        )

    return attend(
        settings, begin, Wish(out, as_json), local_model, compat=compat, unattended=unattended
    )
