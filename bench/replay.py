"""Proving, loading and resuming a long run, against `json.loads` and SHA-256 of the same records.

    python bench/replay.py [--records 10000] [--rounds 5]

`load` verifies the chain, reduces every record and compares every state's digest; `replay` does the
same, and makes every intent, verdict and request a second time. `restore` begins at a snapshot.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence

from artificer.runtime.load import load
from artificer.runtime.snapshot import restore
from artificer.world import World
from measure import Contestant, Row, Spent, by_turns, main, row, spent_by, timed
from worlds import opened, run, script_of

RECORDS_A_TURN = 6


async def measured(home: str, work: str) -> Spent:
    """Return the seconds that one of the works takes in an open world."""
    async with opened(home) as world:
        (run_id,) = await world.archive.runs()
        return await spent_by(WORKS[work](world, run_id))


async def loaded(world: World, run_id: str) -> None:
    await load(world._resources.storage.journal, world._resources.storage.blobs, run_id)


async def replayed(world: World, run_id: str) -> None:
    found = await world.archive.replay(run_id)
    assert found.identical and found.requests


async def restored(world: World, run_id: str) -> None:
    storage = world._resources.storage
    found = await restore(storage.journal, storage.blobs, storage.snapshots, run_id)
    assert found.kept


WORKS = {"replay": replayed, "load": loaded, "restore": restored}
GOALS = {"replay": "≤ 5", "load": "≤ 3.5", "restore": ""}


async def recorded(home: str, turns: int) -> list[bytes]:
    """The records of a run that is made in a folder."""
    script = script_of(turns, "look_up", key="a key of the usual length")
    async with opened(home) as world:
        made = await run(world, script)
        return [record.body for record in await world._resources.storage.journal.read(made.id)]


def floor(bodies: Sequence[bytes]) -> None:
    for body in bodies:
        json.loads(body)
        hashlib.sha256(body).hexdigest()


def contestant(home: str, work: str) -> Contestant:
    return lambda: asyncio.run(measured(home, work))


def rows(records: int = 10_000, rounds: int = 5) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as home:
        bodies = asyncio.run(recorded(home, records // RECORDS_A_TURN))
        works = {work: contestant(home, work) for work in WORKS}
        figures = by_turns({"floor": timed(lambda: floor(bodies)), **works}, rounds)
    for work, goal in GOALS.items():
        what = f"{work} {len(bodies):,} records / json.loads and SHA-256"
        yield row(what, figures, work, "floor", clock="cpu", goal=goal)


if __name__ == "__main__":
    main(rows)
