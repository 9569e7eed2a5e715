"""The cost of a turn: a scripted model that calls one trivial tool in each turn.

    python bench/turns.py [--rounds 5] [--turns 50]

At `process` (every record survives the process) it is compared with Pydantic AI, which keeps
nothing; LangGraph with its SQLite saver is shown besides. At `power` (every record survives a loss
of power) the floor is bare fsynced SQLite commits: as many as the turns really make, which SQLite's
own trace counts, with as many bytes. They are made at a turn's rhythm, with as much computing in
between, because a disk that was idle for a moment answers later than one that is kept busy; only
the commits are counted. Peers are measured when they are installed.
"""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from artificer.ports import Durability
from measure import Contestant, Row, Spent, by_turns, installed, main, row
from worlds import Requests, opened, run, script_of

COMMIT_BYTES = 1_800
PEERS = {"pydantic_ai": "peer_pydantic_ai", "langgraph.checkpoint.sqlite": "peer_langgraph"}


async def turns_at(durability: Durability, turns: int, reached: Any = None) -> Spent:
    """One turn, from its request to the next one: a run's beginning and end are not counted.

    ``reached`` is called with the number of each request, once that is recorded.
    """
    ends: list[Spent] = []

    def note(number: int) -> None:
        if number in (1, turns + 1):
            ends.append(Spent.now())
        if reached:
            reached(number)

    async with opened(durability=durability) as world:
        await run(world, script_of(turns), observer=Requests(note))
    start, end = ends
    return end.since(start).each(turns)


def contestant(durability: Durability, turns: int) -> Contestant:
    return lambda: asyncio.run(turns_at(durability, turns))


def commits_a_turn(turns: int) -> float:
    """The fsynced commits that one turn makes, by SQLite's trace of every connection."""
    counted: Counter[str] = Counter()
    at: list[int] = []

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = plain(*arguments, **options)
        state = {"synchronous": "FULL"}

        def trace(statement: str) -> None:
            words = statement.upper().replace("=", " ").split()
            if words[:2] == ["PRAGMA", "SYNCHRONOUS"]:
                state["synchronous"] = words[-1]
            counted["commits"] += words[:1] == ["COMMIT"] and state["synchronous"] == "FULL"

        connection.set_trace_callback(trace)
        return connection

    plain, sqlite3.connect = sqlite3.connect, connect  # type: ignore[assignment]
    try:
        asyncio.run(turns_at("power", turns, lambda _: at.append(counted["commits"])))
    finally:
        sqlite3.connect = plain
    return (at[-1] - at[0]) / turns


def bare_commits(turns: int, each: float, between: float) -> Spent:
    """As many commits, fsynced, with nothing around them but the pauses."""
    spent = Spent(0, 0)
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder) / "floor.db", isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE log (n INTEGER PRIMARY KEY, body BLOB)")
        for _ in range(round(each * turns)):
            pause = time.perf_counter() + between
            while time.perf_counter() < pause:
                pass
            start = Spent.now()
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO log (body) VALUES (?)", (b"x" * COMMIT_BYTES,))
            db.execute("COMMIT")
            taken = Spent.now().since(start)
            spent = Spent(spent.wall + taken.wall, spent.cpu + taken.cpu)
        db.close()
    return spent.each(turns)


def peers(turns: int) -> dict[str, Contestant]:
    found: dict[str, Contestant] = {}
    for module, peer in PEERS.items():
        if installed(module):
            turn = importlib.import_module(peer).turn
            found[module] = lambda turn=turn: turn(turns)
    return found


def rows(rounds: int = 5, turns: int = 50) -> Iterator[Row]:
    commits = commits_a_turn(turns)
    between = asyncio.run(turns_at("process", turns)).wall / commits
    figures = by_turns(
        {
            "bare": lambda: bare_commits(turns, commits, between),
            "process": contestant("process", turns),
            "power": contestant("power", turns),
            **peers(turns),
        },
        rounds,
    )
    peer = "a turn at `process` / Pydantic AI, in memory"
    yield row(peer, figures, "process", "pydantic_ai", goal="≤ 0.3")
    yield row(peer, figures, "process", "pydantic_ai", clock="cpu", goal="≤ 0.3")
    bare = f"a turn at `power` / {commits:.3g} bare fsynced commits"
    yield row(bare, figures, "power", "bare", goal="≤ 3")
    if "langgraph.checkpoint.sqlite" in figures:
        other = "a turn at `power` / LangGraph, SqliteSaver, `sync`"
        yield row(other, figures, "power", "langgraph.checkpoint.sqlite")


if __name__ == "__main__":
    main(rows)
