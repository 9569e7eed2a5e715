"""The commands that export runs, import them, and run them as tests."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.cli.commands.candidates import run_argument
from artificer.cli.commands.shared import EXISTING_FILE, FILE, json_flag
from artificer.cli.declare import Command, argument, option, options

REPORT_FORMATS = ("pdf", "docx", "html", "md", "zip", "json")
ARTIFACT_FORMATS = ("csv", "xlsx", "svg", "png", "json", "txt")
RECORDING = "recording"
FORMATS = dict.fromkeys((RECORDING, *REPORT_FORMATS, *ARTIFACT_FORMATS))


@options
class ExportOptions:
    """Write RUN to a file, and print its path: a recording, its report, or one artifact.

    A recording holds everything that RUN refers to, in gzipped JSON lines. It contains prompts,
    replies and results in full: read it before you share it. It replays and runs as a test
    anywhere.

    The other formats are for people and fetch nothing. A report is a pdf, docx, html, md, zip or
    json; md writes its pictures to a folder next to it. An artifact is a csv, xlsx, svg, png,
    json or txt. The same run gives the same bytes.

    \b
    Example:
      artificer export last -o bug.run.gz
      artificer export last --format pdf -o report.pdf
      artificer export last --artifact sales --format xlsx
    """

    run: str = run_argument()
    form: str = option(
        "--format",
        type=click.Choice(tuple(FORMATS)),
        default=RECORDING,
        show_default=True,
        help="The format of the file.",
    )
    artifact: str | None = option(metavar="ID", help="Only this artifact, by its id or kind:id.")
    out: str | None = option(
        "-o", "--out", metavar="FILE", help="The file; `-` is stdout. Default: the id and a suffix."
    )
    as_json: bool = json_flag("Print a JSON object about the file.")


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
