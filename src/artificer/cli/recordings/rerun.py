"""``artificer test``: run exported runs as tests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import click

from artificer.cli.commands.recordings import TestOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import clean, note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.config import Config
from artificer.errors import ArtificerError
from artificer.recordings.file import read_file
from artificer.system.whole_file import write_whole
from artificer.wiring.recordings import rerun_recording

PATTERNS = ("*.run.gz", "*.jsonl")
"""Files that are taken from a folder."""


@dataclass(frozen=True)
class TestResult:
    """The result of testing one file; it passes if there are no ``faults``."""

    file: str
    faults: tuple[str, ...]
    seconds: float


async def test(settings: Settings, options: TestOptions) -> Exit:
    """Test every file and print the results; return 1 if a test failed."""
    files = list(dict.fromkeys(file for path in options.recordings for file in _files(path)))
    if not files:
        raise click.UsageError(f"No {' or '.join(PATTERNS)} found.")
    config = configuration(settings)
    results = [await _test(config, file, quiet=options.as_json) for file in files]
    failed = [result for result in results if result.faults]
    if options.as_json:
        out_json([{"passed": not result.faults, **asdict(result)} for result in results])
    if options.junit:
        write_whole(options.junit, _junit(results).encode())
    note(f"{len(results) - len(failed)} of {count(len(results), 'recorded run')} passed")
    return Exit.WRONG if failed else Exit.OK


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for pattern in PATTERNS:
            yield from sorted(path.rglob(pattern))
    else:
        yield path


async def _test(config: Config, file: Path, *, quiet: bool) -> TestResult:
    began = time.monotonic()
    try:
        faults = await rerun_recording(read_file(file), config)
    except ArtificerError as error:
        faults = [error.message]
    result = TestResult(str(file), tuple(faults), round(time.monotonic() - began, 3))
    if not quiet:
        word, style = ("FAILED", "bad") if faults else ("passed", "good")
        out(f"{word}  {file}", style)
        for fault in faults:
            out(f"        {fault}")
    return result


def _junit(results: list[TestResult]) -> str:
    """Return the results as JUnit XML."""
    failed = sum(bool(result.faults) for result in results)
    cases = "".join(map(_case, results))
    total = sum(result.seconds for result in results)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="artificer" tests="{len(results)}" failures="{failed}" '
        f'time="{total:.3f}">\n{cases}</testsuite>\n'
    )


def _case(result: TestResult) -> str:
    failures = [f"    <failure message={quoteattr(clean(fault))}/>\n" for fault in result.faults]
    name = quoteattr(clean(result.file))
    head = f'  <testcase classname="replay" name={name} time="{result.seconds:.3f}"'
    return f"{head}>\n{''.join(failures)}  </testcase>\n"
