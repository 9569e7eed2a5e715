"""``artificer follow-up``: ask more in the conversation of a finished run."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.cli.common.ask_here import who
from artificer.cli.common.attend import COMPAT, FOLDER, MODEL_FILE, UNATTENDED, attend
from artificer.cli.common.outcome import Wish
from artificer.cli.common.progress import Progress
from artificer.cli.common.settings import Settings, pass_settings
from artificer.core.letters import FollowUp
from artificer.ports import Approver
from artificer.runs import Run
from artificer.world import World


@click.command(name="follow-up")
@click.argument("run")
@click.argument("prompt")
@click.option("--tools", type=FOLDER, multiple=True, help="A folder of tools that has moved.")
@click.option("--out", type=FOLDER, help="Write report.html, report.md and artifacts here too.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.option("--local-model", type=MODEL_FILE, help="A GGUF file for the provider `local`.")
@COMPAT
@UNATTENDED
@pass_settings
def command(
    settings: Settings,
    run: str,
    prompt: str,
    tools: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
    local_model: Path | None,
    compat: bool,
    unattended: bool,
) -> int:
    """Ask PROMPT in the conversation of RUN: same model, same tools, what was made is still there.

    The turn and repair limits begin anew; token and cost limits are those of the whole run. A run
    that is not finished is resumed, and asked when it is.

    \b
    Example:
      artificer follow-up last "Now the same for green tea."
    """

    async def begin(world: World, progress: Progress, approver: Approver | None) -> Run:
        run_id = await world.find(run)
        await world.send(run_id, FollowUp(by=who(), text=prompt))
        return await world.resume(run_id, tools=tools, approver=approver, observer=progress)

    return attend(
        settings, begin, Wish(out, as_json), local_model, compat=compat, unattended=unattended
    )
