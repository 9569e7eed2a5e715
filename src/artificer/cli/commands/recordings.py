"""The commands that export runs, import them, and run them as tests."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.cli.commands.candidates import run_argument
from artificer.cli.commands.shared import EXISTING_FILE, FILE, json_flag
from artificer.cli.declare import Command, argument, option, options


@options
class ExportOptions:
    """Write RUN with everything it refers to into one file, and print its path.

    The file is gzipped JSON lines, always the same bytes. It contains prompts, replies and results
    in full: read it before you share it.

    \b
    Example:
      artificer export last -o bug.run.gz
      artificer import bug.run.gz
    """

    run: str = run_argument()
    output: str | None = option(
        "-o", "--output", metavar="FILE", help="The file; `-` is stdout. Default: RUN.run.gz"
    )


@options
class ImportOptions:
    """Add the run in FILE to this project if its replay is identical, and print its id.

    Nothing in the file is executed, and nothing in it names a path. A run that exists already is
    not changed.

    \b
    Example:
      artificer import bug.run.gz
      artificer show last
    """

    file: Path = argument(type=EXISTING_FILE)


@options
class TestOptions:
    """Test exported runs: RECORDINGS are files, or folders of *.run.gz and *.jsonl.

    Each is replayed, then run again with the recorded replies, results and answers: every request
    must be the same. No model is asked and no tool runs. Exits with 1 if a test fails.

    \b
    Example:
      artificer export last -o tests/runs/report.run.gz
      artificer test tests/runs
    """

    recordings: tuple[Path, ...] = argument(
        nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
    )
    as_json: bool = json_flag("Print a JSON array.")
    junit: Path | None = option(type=FILE, help="Write JUnit XML.")


export = Command("export", ExportOptions, "recordings.export:export")
import_ = Command("import", ImportOptions, "recordings.import_:import_run")
test = Command("test", TestOptions, "recordings.rerun:test")
