"""A world of many runs: how soon a page of them is shown, and whether checking it is linear.

    python bench/scale.py [--runs 100000] [--small 1500] [--rounds 3]

The world of so many runs is made once, in about a minute, and kept in the temporary folder until
the storage code changes: the records of one real run under many names, appended as any run appends
its own. `verify`, `fsck` and `gc` are timed on SMALL runs and on twice as many: linear work takes
twice as long.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from artificer import storage
from artificer.archive import Archive
from artificer.config import Config
from artificer.ports import Head, Record
from artificer.values.canon import canonical, digest_of
from artificer.world import World
from measure import Row, Spent, by_turns, main, row, spent_by
from worlds import opened, run, script_of

PAGE = 20
AT_ONCE = 500
"""Runs that share a commit."""


def kept_world(runs: int) -> Path:
    """The folder of a world with so many runs, made when it is not there."""
    code = sorted(Path(storage.__file__).parent.glob("**/*.py"))
    version = hashlib.sha256(b"".join(file.read_bytes() for file in code)).hexdigest()[:12]
    home = Path(tempfile.gettempdir()) / f"artificer-bench-{version}-{runs}"
    if not home.exists():
        for older in home.parent.glob(f"artificer-bench-*-{runs}*"):
            shutil.rmtree(older, ignore_errors=True)
        part = home.with_suffix(".part")
        asyncio.run(fill(part, runs))
        part.rename(home)
    return home


async def fill(home: Path, runs: int) -> None:
    async with opened(home) as world:
        first = await run(world, script_of(0))
        records = await world._resources.storage.journal.read(first.id)
        for names in chunks(range(1, runs), AT_ONCE):
            await asyncio.gather(*(add(world, records, f"{first.id}-{n:06}") for n in names))


def chunks(numbers: range, size: int) -> Iterator[range]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


async def add(world: World, records: Sequence[Record], name: str) -> None:
    """Append records to a run of another name."""
    journal = world._resources.storage.journal
    copies: list[Record] = []
    head = Head()
    for record in records:
        body = canonical({**json.loads(record.body), "run": name, "prev": head.hash})
        head = Head(seq=record.seq, hash=digest_of(body))
        copies.append(Record(name, record.seq, head.hash, body))
    lease = await journal.acquire(name)
    await journal.append(name, lease.epoch, lease.head, copies)
    await journal.release(name, lease.epoch)


async def page(home: str) -> Spent:
    """Open the world to be read, and summarise its newest runs."""

    async def work() -> None:
        async with Archive.open(Config(home=Path(home), project="bench")) as archive:
            assert len(await archive.summaries(PAGE, builds=False)) == PAGE

    return await spent_by(work())


async def verified(world: World) -> None:
    assert (await world.archive.verify()).sound


async def checked(world: World) -> None:
    assert (await world.maintenance.fsck()).sound


async def collected(world: World) -> None:
    assert (await world.maintenance.gc(dry_run=True)).small == 0


WORKS: dict[str, Callable[[World], Awaitable[None]]] = {
    "verify": verified,
    "fsck": checked,
    "gc": collected,
}


async def timed_work(home: str, work: str) -> Spent:
    async with opened(home) as world:
        return await spent_by(WORKS[work](world))


def rows(runs: int = 100_000, small: int = 1_500, rounds: int = 3) -> Iterator[Row]:
    many = str(kept_world(runs))
    figures = by_turns({"page": lambda: asyncio.run(page(many))}, rounds)
    yield row(f"a page of `runs` among {runs:,} runs", figures, "page", goal="< 100")
    homes = [str(kept_world(count)) for count in (small, 2 * small)]
    for work in WORKS:
        less, more = (asyncio.run(timed_work(home, work)) for home in homes)
        what = f"`{work}` of {2 * small:,} runs / of {small:,}"
        yield Row(what, "s CPU", more.cpu, less.cpu, "2 (linear)")


if __name__ == "__main__":
    main(rows)
