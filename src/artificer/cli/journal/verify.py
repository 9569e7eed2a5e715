"""``artificer verify``: every record, every chain, every blob."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.archive import Archive
from artificer.cli.common.drive import in_archive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.errors import OperatorError
from artificer.runtime.kept import WORLD, KeptHeads, read_kept
from artificer.runtime.verify import Verification


@click.command(name="verify")
@click.option(
    "--against",
    metavar="HEADS",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also compare with heads that were kept: what verify printed, with or without --json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@pass_settings
def command(settings: Settings, against: Path | None, as_json: bool) -> int:
    """Check every record, chain and blob of this project; print all that is wrong, exit with 1.

    Each run's head is printed, and that of the world's chain, which also covers signals, budgets
    and workspaces: the number and the hash of the last record stand for all before it. Keep the
    heads where a person who can write this project cannot. With --against, every kept head is
    compared with the journal of today: "same", "extends" (it went on from there), "diverged" (its
    past was rewritten) or "missing" (it was cut, or is gone). The last two are problems.

    \b
    Example:
      artificer verify > heads.txt             # keep this file elsewhere
      artificer verify --against heads.txt     # a week later
    """
    kept = None if against is None else _read(against)

    async def work(world: Archive) -> Exit:
        result = await world.verify(kept)
        if as_json:
            out_json({"sound": result.sound, **result.facts()})
            return Exit.OK if result.sound else Exit.WRONG
        for problem in result.problems:
            out(f"problem: {problem}")
        if kept is None:
            _print_heads(result)
        for found in result.against:
            out(f"{found.relation:8}  {found.name}  {found.kept} of {found.now}")
        counts = (
            f"{count(result.runs, 'run')}, {count(result.records, 'record')}, "
            f"{count(result.blobs, 'blob')}"
        )
        if result.sound:
            note(f"sound: {counts}", "good")
            return Exit.OK
        note(f"{count(len(result.problems), 'problem')} in {counts}", "bad")
        return Exit.WRONG

    return in_archive(settings, work)


def _read(path: Path) -> KeptHeads:
    try:
        return read_kept(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(
            f"The heads in {path} cannot be read: {error}.",
            hint="artificer verify > heads.txt writes such a file.",
        ) from error


def _print_heads(result: Verification) -> None:
    heads = [*result.heads.items(), *([(WORLD, result.world)] if result.world else [])]
    for name, head in heads:
        if head.hash:
            out(f"{name}  {head.seq}  {head.hash}")
