"""A process that forks while it has a journal open: python forker.py PATH.

The fork tries to open the journal, and prints what it learns. It ends as any program does when the
journal is closed here and another process that appended to it was killed. Prints how many records
were acknowledged, and how many are there at the end.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from artificer.errors import AuthorError
from artificer.storage.sqlite import SqliteJournal


async def records(path: str) -> int:
    async with SqliteJournal(path) as journal:
        return sum(row.head.seq for row in await journal.runs())


def fork_tries(path: str, tried: int, done: int) -> None:
    for attempt in ("writing", "again"):
        try:
            print(attempt, asyncio.run(records(path)), flush=True)
        except AuthorError as error:
            print(attempt, error.code, flush=True)
    os.close(tried)
    os.read(done, 1)


def acknowledged(path: str) -> int:
    program = str(Path(__file__).with_name("appender.py"))
    other = subprocess.Popen([sys.executable, program, path, "power"], stdout=subprocess.PIPE)
    with other:
        assert other.stdout
        seen = [int(other.stdout.readline()) for _ in range(20)]
        other.kill()
    return seen[-1]


def main(path: str) -> None:
    loop = asyncio.new_event_loop()
    journal = SqliteJournal(path)
    loop.run_until_complete(journal.open())
    (tried, trying), (done, ending) = os.pipe(), os.pipe()
    fork = os.fork()
    if fork == 0:
        os.close(ending)
        fork_tries(path, trying, done)
        return
    os.close(trying)
    os.read(tried, 1)
    loop.run_until_complete(journal.aclose())
    least = acknowledged(path)
    os.close(ending)
    os.waitpid(fork, 0)
    there = asyncio.run(records(path))
    print("kept" if there >= least else f"lost {least - there}", flush=True)


main(sys.argv[1])
