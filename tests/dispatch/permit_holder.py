"""A process that takes a permit and holds it: python permit_holder.py URL FOLDER LIMIT LEASE_S.

Prints a line when it has the only permit of the limit, and goes on until it is killed.
"""

import asyncio
import sys
from pathlib import Path

from artificer.ports import HasPermits, Permit, SharedLimit, StoragePlace
from artificer.runtime.limits.permits import PermitKeeper
from artificer.wiring.storage_kinds import KINDS


async def main(url: str, folder: str, limit: str, lease_s: float) -> None:
    kind = KINDS.get(url.partition(":")[0])
    assert kind is not None
    storage = await kind.open(StoragePlace(Path(folder), url))
    assert isinstance(storage, HasPermits)
    keeper = PermitKeeper(storage.permits, lease_s)
    assert isinstance(await keeper.take([SharedLimit(limit, 1)]), Permit)
    print("held", flush=True)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
