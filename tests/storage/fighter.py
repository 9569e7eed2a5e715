"""A process that fights for a run: python fighter.py PATH SECONDS.

Acquires, appends until it is fenced, acquires again. Prints each acquired epoch, the number of
its appends, and the name of any other error.
"""

import asyncio
import sys
import time

from artificer.errors import Fenced
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after


async def main(path: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    async with SqliteJournal(path, "process") as journal:
        while time.monotonic() < end:
            lease = await journal.acquire("run")
            print("epoch", lease.epoch)
            head = lease.head
            try:
                for turn in range(50):
                    head = await journal.append(
                        "run", lease.epoch, head, records_after(head, "run", turn)
                    )
                    print("appended", head.seq)
            except Fenced:
                continue


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
