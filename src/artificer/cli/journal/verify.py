"""``artificer verify``: check every record, chain and blob."""

from __future__ import annotations

from pathlib import Path

from artificer.cli.commands.journal import VerifyOptions
from artificer.cli.interruptible import interrupted_at_once
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.cli.terminal.working import working
from artificer.errors import OperatorError
from artificer.runtime.proving.kept import WORLD, KeptHeads
from artificer.runtime.proving.verify import Verification


async def verify(settings: Settings, options: VerifyOptions) -> Exit:
    """Print problems and heads; return 1 if there are problems."""
    kept = None if options.against is None else _read(options.against)
    async with opened_archive(settings) as archive:
        with working(settings) as report:
            result = await archive.verify(kept, report)
    if options.as_json:
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
    if result.world is None and result.sound:
        note(
            "not checked: the storage has no chain of its world, so that a run which was removed "
            "whole, and changed signals, budgets and workspaces do not show"
        )
    if result.sound:
        note(f"sound: {counts}", "good")
        return Exit.OK
    note(f"{count(len(result.problems), 'problem')} in {counts}", "bad")
    return Exit.WRONG


MAX_HEADS = 64 * 1024 * 1024
"""Bytes of kept heads that are read: a run's takes about a hundred."""


def _read(path: Path) -> KeptHeads:
    try:
        # Of a pipe too: verify --against <(…)
        with interrupted_at_once(), path.open("rb") as file:
            data = file.read(MAX_HEADS + 1)
        if len(data) > MAX_HEADS:
            raise OSError(f"more than {MAX_HEADS:,} bytes")
        return KeptHeads.read(data.decode())
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
