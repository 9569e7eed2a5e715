"""The common part of the benches: contestants by turns, child processes, instructions, one table.

A bench is a module with a function ``rows`` that yields `Row`, and ends in ``main(rows)``. Its
parameters are its options: ``python bench/turns.py --rounds 9``. Nothing passes or fails here:
absolute figures belong to the machine, ratios within one run belong to the program.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import importlib.util
import inspect
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

HERE = Path(__file__).parent

ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Of child processes: a program that people have started before finds its ``.pyc`` files."""


class Spent(NamedTuple):
    """Seconds of work: by the clock on the wall, and on a processor."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Spent:
        """The present moment. Two of them make a duration: ``later.since(earlier)``."""
        return cls(time.perf_counter(), time.process_time())

    def since(self, start: Spent) -> Spent:
        return Spent(self.wall - start.wall, self.cpu - start.cpu)

    def each(self, count: float) -> Spent:
        return Spent(self.wall / count, self.cpu / count)


Contestant = Callable[[], Spent]
Figures = dict[str, list[Spent]]


@dataclass(frozen=True)
class Row:
    """A line of the table. ``floor`` is the same work by other or by bare means."""

    what: str
    unit: str
    ours: float
    floor: float | None = None
    goal: str = ""
    ratio: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as texts."""
        ratio = self.ratio
        if ratio is None and self.floor:
            ratio = self.ours / self.floor
        numbers = [_number(value) for value in (self.floor, self.ours)]
        return (self.what, self.unit, *numbers, _number(ratio), self.goal)


HEADINGS = ("what", "unit", "floor", "ours", "ratio", "goal")


def by_turns(contestants: Mapping[str, Contestant], rounds: int) -> Figures:
    """Measure contestants in rounds, so that a busy moment hits all; a first round is not counted.

    What a contestant leaves behind is collected before the next one begins.
    """
    figures: Figures = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, measure in contestants.items():
            gc.collect()
            spent = measure()
            if number:
                figures[name].append(spent)
    return figures


def row(
    what: str,
    figures: Figures,
    ours: str,
    floor: str | None = None,
    *,
    clock: Literal["wall", "cpu"] = "wall",
    unit: Literal["s", "ms", "µs"] = "ms",
    goal: str = "",
) -> Row:
    """Medians of two contestants, and the median of their ratios in each round."""
    scale = {"s": 1, "ms": 1e3, "µs": 1e6}[unit]
    mine = [getattr(spent, clock) for spent in figures[ours]]
    theirs = [getattr(spent, clock) for spent in figures[floor]] if floor in figures else []
    name = f"{unit} {'CPU' if clock == 'cpu' else 'wall'}"
    if not theirs:
        return Row(what, name, statistics.median(mine) * scale, goal=goal)
    ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
    middle = statistics.median(theirs) * scale
    return Row(what, name, statistics.median(mine) * scale, middle, goal, ratio)


def timed(work: Callable[[], object], times: int = 1) -> Contestant:
    """A contestant that does the work so many times; the figure is of one time."""

    def measure() -> Spent:
        start = Spent.now()
        made = [work() for _ in range(times)]
        spent = Spent.now().since(start)
        del made  # its end is not counted
        return spent.each(times)

    return measure


async def spent_by(work: Awaitable[object]) -> Spent:
    """Return the seconds that awaiting it takes."""
    start = Spent.now()
    await work
    return Spent.now().since(start)


def command(*words: str, cwd: Path | None = None) -> Contestant:
    """A contestant that runs ``python …`` from its start to its exit."""

    def measure() -> Spent:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.DEVNULL, env=ENVIRONMENT, cwd=cwd
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"python {' '.join(words)} exited with {process.returncode}")
        return Spent(wall, used.ru_utime + used.ru_stime)

    return measure


def _call(function: Callable[..., Any], arguments: Sequence[object]) -> list[str]:
    """The command that calls a bench's function and prints its result as JSON."""
    module = Path(inspect.getfile(function)).stem
    program = "import sys, json, measure; measure.called(*sys.argv[1:])"
    return ["-c", program, module, function.__name__, json.dumps(arguments)]


def called(module: str, function: str, arguments: str) -> None:
    """Call a function in a process of its own."""
    result = getattr(importlib.import_module(module), function)(*json.loads(arguments))
    if inspect.isawaitable(result):
        result = asyncio.run(_finished(result))
    print(json.dumps(result))


async def _finished(work: Awaitable[object]) -> object:
    return await work


def in_child(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function of a bench in a fresh process; arguments and result are JSON values."""
    words = [sys.executable, *_call(function, arguments)]
    ended = subprocess.run(words, stdout=subprocess.PIPE, env=_child(), text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


def _child() -> dict[str, str]:
    paths = [str(HERE), *filter(None, [ENVIRONMENT.get("PYTHONPATH")])]
    return {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}


MARK = "getpgrp"
"""A function of the C library that nothing else calls."""


def begin_count() -> None:
    """Begin a count of :func:`instructions`."""
    _instrument("on")
    os.getpgrp()


def end_count() -> None:
    """End the count that was begun."""
    os.getpgrp()
    _instrument("off")


def _instrument(switch: str) -> None:
    """Let callgrind count, or let the program run five times as fast."""
    words = ["callgrind_control", f"--instr={switch}", str(os.getpid())]
    subprocess.run(words, capture_output=True, check=True)


def instructions(function: Callable[..., Any], *arguments: object) -> list[int] | None:
    """How many instructions a function of a bench executes in each of its counts, by callgrind.

    They are the same on a busy machine as on a quiet one. None where valgrind is missing.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("valgrind is not installed: no instructions are counted", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        words = [
            *(valgrind, "--quiet", "--tool=callgrind", "--instr-atstart=no"),
            *(f"--dump-before={MARK}", f"--callgrind-out-file={out}"),
            *(sys.executable, *_call(function, arguments)),
        ]
        subprocess.run(words, stdout=subprocess.DEVNULL, env=_child(), check=True)
        dumps = sorted(out.parent.glob("counts.*"), key=lambda path: int(path.suffix[1:]))
        return [_total(path) for path in dumps][1::2]  # the first of a pair ends where one begins


def _total(path: Path) -> int:
    with path.open() as file:
        for line in file:
            if found := re.match(r"(?:summary|totals): (\d+)", line):
                return int(found[1])
    return 0


def highest_mib() -> float:
    """The most memory that this process has had; unlike ru_maxrss, not what its parent had."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def resident_mib() -> float:
    """The memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def installed(module: str) -> bool:
    """Whether a peer is here."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def print_table(rows: Iterable[Row]) -> None:
    """Print rows as a Markdown table, in columns."""
    lines = [HEADINGS, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    marks = [("-" * (width - 1)) + (":" if 2 <= n <= 4 else "-") for n, width in enumerate(widths)]
    for cells in (HEADINGS, tuple(marks), *lines[1:]):
        padded = [
            cell.rjust(width) if 2 <= n <= 4 else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        print(f"| {' | '.join(padded)} |")


def main(rows: Callable[..., Iterable[Row]]) -> None:
    """Run a bench from the command line: its parameters are the options."""
    module = sys.modules[rows.__module__]
    parser = argparse.ArgumentParser(
        description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, parameter in inspect.signature(rows).parameters.items():
        default = parameter.default
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(default), default=default, metavar="N")
    parser.add_argument("--json", action="store_true", help="print each row as a line of JSON")
    options = vars(parser.parse_args())
    as_json = options.pop("json")
    if as_json:
        for row in rows(**options):
            print(json.dumps(asdict(row)), flush=True)
    else:
        print_table(rows(**options))
