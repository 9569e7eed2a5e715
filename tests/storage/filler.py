"""A process whose disk fills up: python filler.py PATH.

The limit on the size of its files stands for the end of the disk: a write beyond it fails in the
operating system, as on a full disk. Prints what happened, line by line.
"""

import asyncio
import resource
import sys
from pathlib import Path

from artificer.errors import OperatorError
from artificer.ports import Head
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after


def size_of(path: str) -> int:
    return Path(path).stat().st_size


def limit_files(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


async def main(path: str) -> None:
    async with SqliteJournal(path, "power") as journal:
        big, small = await journal.acquire("big"), await journal.acquire("small")
        large = records_after(Head(), "big", "x" * 1_000_000)
        limit_files(size_of(f"{path}-wal") + 100_000)
        for attempt in range(3):
            try:
                await journal.append("big", big.epoch, Head(), large)
            except OperatorError as error:
                print(attempt, error.code, [row.head.seq for row in await journal.runs()])
        head = small.head
        results = await asyncio.gather(
            journal.append("big", big.epoch, Head(), large),
            journal.append("small", small.epoch, head, records_after(head, "small", 1)),
            return_exceptions=True,
        )
        print("together", *(type(result).__name__ for result in results))
        limit_files(resource.RLIM_INFINITY)
        print("retried", (await journal.append("big", big.epoch, Head(), large)).seq)
        print("audit", await journal.audit())


asyncio.run(main(sys.argv[1]))
