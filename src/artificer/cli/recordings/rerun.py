"""``artificer test``: recorded runs as tests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import click

from artificer.cli.common.drive import configuration, drive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import clean, note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.errors import ArtificerError
from artificer.recordings.recording import read_file
from artificer.world import World

PATTERNS = ("*.run.gz", "*.jsonl")
"""Files that are taken from a folder."""


@dataclass(frozen=True)
class Outcome:
    """What came of one file; it passes when ``faults`` is empty."""

    file: str
    faults: tuple[str, ...]
    seconds: float


@click.command(name="test")
@click.argument("cassettes", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit XML.")
@pass_settings
def command(
    settings: Settings, cassettes: tuple[Path, ...], as_json: bool, junit: Path | None
) -> int:
    """Test exported runs: CASSETTES are files, or folders of *.run.gz and *.jsonl.

    Each is replayed, and then run again with the recorded replies, results and answers: every
    request must come out as it was. No model is asked and no tool runs. Exits with 1 when a test
    fails.

    \b
    Example:
      artificer export last -o tests/runs/report.run.gz
      artificer test tests/runs
    """
    files = list(dict.fromkeys(file for path in cassettes for file in _files(path)))
    if not files:
        raise click.UsageError(f"There is no {' or '.join(PATTERNS)} there.")
    config = configuration(settings)

    async def work() -> list[Outcome]:
        async with World.in_memory(config) as world:
            return [await _test(world, file, quiet=as_json) for file in files]

    outcomes = drive(work)
    failed = [outcome for outcome in outcomes if outcome.faults]
    if as_json:
        out_json([{"passed": not outcome.faults, **asdict(outcome)} for outcome in outcomes])
    if junit:
        junit.write_text(_junit(outcomes), encoding="utf-8")
    note(f"{len(outcomes) - len(failed)} of {count(len(outcomes), 'recorded run')} pass")
    return Exit.WRONG if failed else Exit.OK


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for pattern in PATTERNS:
            yield from sorted(path.rglob(pattern))
    else:
        yield path


async def _test(world: World, file: Path, *, quiet: bool) -> Outcome:
    began = time.monotonic()
    try:
        faults = await world.test_run(read_file(file))
    except ArtificerError as error:
        faults = [error.message]
    outcome = Outcome(str(file), tuple(faults), round(time.monotonic() - began, 3))
    if not quiet:
        word, style = ("FAILED", "bad") if faults else ("passed", "good")
        out(f"{word}  {file}", style)
        for fault in faults:
            out(f"        {fault}")
    return outcome


def _junit(outcomes: list[Outcome]) -> str:
    """The report that most CI systems read."""
    failed = sum(bool(outcome.faults) for outcome in outcomes)
    cases = "".join(map(_case, outcomes))
    total = sum(outcome.seconds for outcome in outcomes)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="artificer" tests="{len(outcomes)}" failures="{failed}" '
        f'time="{total:.3f}">\n{cases}</testsuite>\n'
    )


def _case(outcome: Outcome) -> str:
    said = [f"    <failure message={quoteattr(clean(fault))}/>\n" for fault in outcome.faults]
    name = quoteattr(clean(outcome.file))
    head = f'  <testcase classname="replay" name={name} time="{outcome.seconds:.3f}"'
    return f"{head}>\n{''.join(said)}  </testcase>\n"
