"""What a turn costs: a scripted model, one trivial tool call a turn, 50 turns.

Run it with ``make bench``, or ``python bench/turns.py [ROUNDS]``. The contestants take turns in
one process, so that a busy moment hits all of them; medians of the rounds are quoted. Peers are
measured when they are installed. Nothing passes or fails here: absolute times are the machine's.

The physical floor is two durable commits of the same size into a bare SQLite file, since a turn
makes two: the model's reply with the call that follows, and the call's result with the next
request. They are made at a turn's rhythm, with as much computing in between, for a disk that has
been idle for a moment answers later than one that is kept busy; only the commits are counted.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import itertools
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import artificer
from artificer.core.intents import Generate
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import Limits
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.world import World

TURNS = 50
LONG = 1_000
COMMIT_BYTES = 1_800
BETWEEN_COMMITS = 0.0005
"""Seconds that a turn computes between its commits, on a slow machine."""


@artificer.tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Stopwatch(artificer.Observer):
    """Notes when each request is recorded."""

    def __init__(self) -> None:
        self.marks: list[float] = []

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        if isinstance(line, IntentLine) and isinstance(line.intent, Generate):
            self.marks.append(time.perf_counter())


def artificer_marks(turns: int, durability: Literal["process", "power"]) -> list[float]:
    async def go(home: str) -> list[float]:
        config = artificer.Config(home=Path(home), project="bench", durability=durability)
        script = [reply(call("add", a=n, b=1)) for n in range(turns)]
        watch = Stopwatch()
        async with await World.open(config) as world:
            run = await world.run(
                "Count.",
                model=ScriptedProvider([*script, say("Done.")]),
                tools=[add],
                limits=Limits(turns=turns + 1),
                observer=watch,
            )
        assert run.text == "Done.", run.status
        return watch.marks

    with tempfile.TemporaryDirectory() as home:
        return asyncio.run(go(home))


def artificer_turn(durability: Literal["process", "power"]) -> float:
    marks = artificer_marks(TURNS, durability)
    return (marks[-1] - marks[0]) / TURNS * 1000


def bare_commits() -> float:
    """Two commits a turn, fsynced, with nothing around them."""
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder) / "floor.db", isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE log (n INTEGER PRIMARY KEY, body BLOB)")
        body, spent = b"x" * COMMIT_BYTES, 0.0
        for _ in range(2 * TURNS):
            pause = time.perf_counter() + BETWEEN_COMMITS
            while time.perf_counter() < pause:
                pass
            started = time.perf_counter()
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO log (body) VALUES (?)", (body,))
            db.execute("COMMIT")
            spent += time.perf_counter() - started
        db.close()
    return spent / TURNS * 1000


def _peer(module: str) -> Callable[[], float]:
    turn: Callable[[int], float] = importlib.import_module(module).turn
    return lambda: turn(TURNS)


def contestants() -> dict[str, Callable[[], float]]:
    found: dict[str, Callable[[], float]] = {
        "two bare fsynced SQLite commits": bare_commits,
        "artificer, process": lambda: artificer_turn("process"),
        "artificer, power": lambda: artificer_turn("power"),
    }
    if importlib.util.find_spec("pydantic_ai"):
        found["pydantic-ai, in memory"] = _peer("peer_pydantic_ai")
    if importlib.util.find_spec("langgraph"):
        found["langgraph, SqliteSaver, sync"] = _peer("peer_langgraph")
    return found


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    runs = contestants()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for measure in runs.values():
        measure()  # imports, caches, files
    for _ in range(rounds):
        for name, measure in runs.items():
            times[name].append(measure())
    middle = {name: statistics.median(values) for name, values in times.items()}
    print(f"milliseconds a turn, {TURNS} turns, median of {rounds} rounds")
    ours = middle["artificer, process"]
    for name, value in middle.items():
        low, high = min(times[name]), max(times[name])
        print(f"  {name:<34} {value:7.3f}   ({low:.3f} to {high:.3f})   {value / ours:5.2f} x ours")
    over = middle["artificer, power"] - middle["two bare fsynced SQLite commits"]
    print(f"  artificer, power, above its two bare commits: {over:.3f} ms")
    marks = artificer_marks(LONG, "process")
    steps = [(b - a) * 1000 for a, b in itertools.pairwise(marks)]
    early, late = statistics.median(steps[5:55]), statistics.median(steps[-50:])
    print(f"a run of {LONG} turns: {early:.3f} ms a turn at its start, {late:.3f} at its end")


if __name__ == "__main__":
    main()
