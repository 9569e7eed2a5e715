"""A process that spends: python spender.py PATH TRIES MOST. Prints how often it was allowed to.

Every second time it settles less than it had reserved.
"""

import asyncio
import sys

from artificer.ports import Amount, SpendingLimit
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.budget_suite import reserve, settle


async def main(path: str, tries: int, most: int) -> None:
    granted = 0
    async with SqliteJournal(path, "process") as journal:
        for attempt in range(tries):
            need = Amount(10, 0)
            limit = SpendingLimit(tokens=most)
            number = await reserve(journal.budget, limit, need=need, account="day")
            if number is not None:
                granted += 1
            if number is not None and attempt % 2:
                await settle(journal.budget, "day", number, need)
    print(granted)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
