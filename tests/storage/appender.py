"""A process that appends to a journal until it is killed: python appender.py PATH DURABILITY.

Prints the seq of each append's last record once the append has returned.
"""

import asyncio
import sys

from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after


async def main(path: str, durability: str) -> None:
    async with SqliteJournal(path, durability) as journal:
        lease = await journal.acquire("run")
        head = lease.head
        while True:
            head = await journal.append("run", lease.epoch, head, records_after(head, "run", 1, 2))
            print(head.seq, flush=True)


asyncio.run(main(*sys.argv[1:]))
