"""A process that appends five times: python syncer.py PATH DURABILITY.

Writes a line to standard error before and after, to be found in a trace of its system calls.
"""

import asyncio
import os
import sys

from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after


async def main(path: str, durability: str) -> None:
    async with SqliteJournal(path, durability) as journal:
        lease = await journal.acquire("run")
        head = lease.head
        os.write(2, b"MARK\n")
        for number in range(5):
            head = await journal.append(
                "run", lease.epoch, head, records_after(head, "run", number)
            )
        os.write(2, b"MARK\n")


asyncio.run(main(*sys.argv[1:]))
