"""``artificer export``: write a run, its report or one artifact into a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from artificer.cli.commands.recordings import (
    ARTIFACT_FORMATS,
    RECORDING,
    REPORT_FORMATS,
    ExportOptions,
)
from artificer.cli.interruptible import run_async
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_bytes, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.cli.terminal.working import working
from artificer.render.export.exported import Files
from artificer.render.export.forms import ARTIFACT_FORMS, REPORT_FORMS, ExportForm
from artificer.report import write_files
from artificer.values.canon import digest_of

SUFFIX = ".run.gz"
STDOUT = "-"


def export(settings: Settings, options: ExportOptions) -> Exit:
    """Write the file and print its path."""
    _check(options)
    run_id, files = run_async(_made(settings, options))
    name, data = next(iter(files.items()))
    if options.out == STDOUT:
        out_bytes(data)
        return Exit.OK
    folder = Path(options.out).parent if options.out else Path()
    paths = write_files(folder, files)
    if options.as_json:
        out_json(
            {
                "run": run_id,
                "format": options.form,
                "file": str(paths[0]),
                "others": [str(path) for path in paths[1:]],
                "bytes": len(data),
                "digest": digest_of(data),
            }
        )
        return Exit.OK
    out(str(paths[0]))
    more = (
        f", and {count(len(paths) - 1, 'file')} in {folder / Path(name).stem}.files"
        if paths[1:]
        else ""
    )
    note(f"{count(len(data), 'byte')}{more}")
    return Exit.OK


def _check(options: ExportOptions) -> None:
    """Refuse what does not go together. Raises UsageError."""
    known = ARTIFACT_FORMATS if options.artifact else (RECORDING, *REPORT_FORMATS)
    if options.form not in known:
        what = "an artifact" if options.artifact else "a run without --artifact"
        raise click.UsageError(f"The format of {what} is one of {', '.join(known)}.")
    if options.out != STDOUT:
        return
    if options.as_json:
        raise click.UsageError("--json describes a file; name one with --out.")
    if not _is_text(options) and sys.stdout.isatty():
        raise click.UsageError(f"A terminal cannot show {options.form}: name a file with --out.")


def _is_text(options: ExportOptions) -> bool:
    """Whether a terminal can show the format."""
    forms: Mapping[Any, ExportForm] = ARTIFACT_FORMS if options.artifact else REPORT_FORMS
    form = forms.get(options.form)
    return form is not None and form.is_text


async def _made(settings: Settings, options: ExportOptions) -> tuple[str, Files]:
    """Return the id of the run, and its files."""
    async with opened_archive(settings) as archive:
        run_id = await archive.find(options.run)
        if options.form == RECORDING:
            return run_id, {_name(options, run_id): await archive.export_run(run_id)}
        run = await archive.get(run_id)
        form: Any = options.form
        if options.artifact:
            artifact = run.artifacts.find(options.artifact)
            name = _name(options, Path(artifact.id).name)
            return run_id, {name: artifact.export(form)}
        if (form, options.out) == ("md", STDOUT):  # there is no place for its pictures
            return run_id, {"report.md": run.markdown.encode()}
        with working(settings) as step:
            return run_id, run.export(form, name=_name(options, run_id), step=step)


def _name(options: ExportOptions, stem: str) -> str:
    """Return the name of the file, without its folder."""
    if options.out and options.out != STDOUT:
        return Path(options.out).name
    suffix = SUFFIX if options.form == RECORDING else f".{options.form}"
    return f"{Path(stem).name}{suffix}"
