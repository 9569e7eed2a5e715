"""``artificer fork``: a run that begins with the facts of another one."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.cli.common.attend import COMPAT, FOLDER, MODEL_FILE, attend
from artificer.cli.common.build_decide import decider_here
from artificer.cli.common.limits import MAX_TOKENS, limits_said
from artificer.cli.common.outcome import Wish
from artificer.cli.common.progress import Progress
from artificer.cli.common.settings import Settings, pass_settings
from artificer.core.spec import Limits
from artificer.ports import Approver
from artificer.runs import Run
from artificer.world import World


@click.command(name="fork")
@click.argument("run")
@click.option("--at", type=click.IntRange(1), metavar="SEQ", help="Take the facts up to here.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Ask another model from there on.")
@click.option("--prompt", metavar="TEXT", help="Another prompt; alone, all begins anew.")
@click.option("--system", metavar="TEXT", help="Other instructions; alone, all begins anew.")
@click.option(
    "--edit",
    "edits",
    metavar="SEQ=TEXT",
    multiple=True,
    help="Another result of the tool in record SEQ; SEQ=@FILE reads it. Repeatable.",
)
@click.option("--steer", metavar="TEXT", default="", help="Tell the model this before it goes on.")
@click.option("--max-turns", type=click.IntRange(1), help="Model requests, those taken included.")
@MAX_TOKENS
@click.option("--tools", type=FOLDER, multiple=True, help="A folder of tools that has moved.")
@click.option("--out", type=FOLDER, help="Write report.html, report.md and artifacts here too.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.option("--local-model", type=MODEL_FILE, help="A GGUF file for the provider `local`.")
@COMPAT
@pass_settings
def command(
    settings: Settings,
    run: str,
    at: int | None,
    model: str | None,
    prompt: str | None,
    system: str | None,
    edits: tuple[str, ...],
    steer: str,
    max_turns: int | None,
    max_tokens: int | None,
    tools: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
    local_model: Path | None,
    compat: bool,
) -> int:
    """Begin a new run with the facts of RUN up to a record, and let it go on by itself.

    Facts are taken up to where every call is answered; when SEQ is inside a turn, the place before
    it is taken, and told. Without --at it is the last such place, or the first one that holds what
    is changed. RUN stays as it is, no tool runs twice, and the fork replays like any other run.

    \b
    Examples:
      artificer fork last --model anthropic/claude-opus-4-5
      artificer fork last --at 9 --steer "Use euros."
      artificer fork last --edit 7='{"status": "error"}'
      artificer diff RUN last
    """
    contents = dict(map(_edit, edits))

    async def begin(world: World, progress: Progress, approver: Approver | None) -> Run:
        run_id = await world.find(run)
        limits: Limits | None = None
        if said := limits_said(max_turns, max_tokens):
            given = (await world.get(run_id)).run.state.given.limits
            limits = given.model_copy(update=said)
        progress.asked = at
        return await world.fork(
            run_id,
            at=at,
            model=model,
            prompt=prompt,
            system=system,
            edits=contents,
            steer=steer,
            limits=limits,
            tools=tools,
            approver=approver,
            observer=progress,
            decider=decider_here(progress.screen),
        )

    return attend(settings, begin, Wish(out, as_json), local_model, compat=compat)


def _edit(word: str) -> tuple[int, str]:
    """Read ``SEQ=TEXT`` or ``SEQ=@FILE``. Raises UsageError."""
    seq, equals, text = word.partition("=")
    if not equals or not seq.isdecimal():
        raise click.UsageError(f"{word!r} is not SEQ=TEXT.")
    if not text.startswith("@"):
        return int(seq), text
    try:
        return int(seq), Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{text[1:]} cannot be read: {error}.") from error
