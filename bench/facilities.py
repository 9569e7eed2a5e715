"""What a call of a workspace or host tool costs on this disk, with the durability of power.

    python bench/facilities.py

The folder has 2,000 files. All figures are of one run on one machine; nothing is asserted.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from artificer.config import Config
from artificer.contracts.facilities import Facilities, Host
from artificer.contracts.workspace.grant import Grant
from artificer.ports import Call
from artificer.wiring.storage import open_storage
from artificer.wiring.toolbox import ToolBox, build_tools

FILES = 2_000


class Caller:
    """Calls tools as a run does, past the gate."""

    def __init__(self, box: ToolBox) -> None:
        self._box = box
        self._count = 0

    async def __call__(self, name: str, **arguments: Any) -> None:
        self._count += 1
        definition = self._box.toolset.get(name)
        assert definition is not None
        call = Call("r", f"c{self._count}", definition, arguments, f"k{self._count}")
        receipt = await self._box.executors[name].execute(call)
        assert receipt.status == "ok", receipt.content


async def median(name: str, times: int, work: Callable[[int], Awaitable[None]]) -> None:
    """Print the median of several calls."""
    taken = []
    for number in range(times):
        start = time.perf_counter()
        await work(number)
        taken.append(time.perf_counter() - start)
    print(f"{name:<28} {statistics.median(taken) * 1000:8.2f} ms")


async def main() -> None:
    """Measure each tool."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "folder"
        for number in range(FILES):
            file = folder / f"d{number % 50}" / f"f{number}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("x = 1\n" * 50 + f"needle{number}\n")
        config = Config(home=Path(temporary) / "home", project="p")
        storage = await open_storage(config)
        given = Facilities(host=Host(folder=str(folder)), workspaces=(Grant(names=("w",)),))
        box = build_tools([], kind="chat", storage=storage, config=config, facilities=given)
        await measure(Caller(box))
        if storage.close is not None:
            await storage.close()


async def measure(call: Caller) -> None:
    """Call everything."""
    path = "d0/f0.py"
    await median("host.read", 50, lambda n: call("host.read", path=path))
    await median(
        "host.edit",
        50,
        lambda n: call(
            "host.edit", path=path, old=f"needle0{'x' * n}\n", new=f"needle0{'x' * (n + 1)}\n"
        ),
    )
    await median("host.grep, 2,000 files", 5, lambda n: call("host.grep", pattern="needle1999"))
    await median("host.glob, 2,000 files", 5, lambda n: call("host.glob", pattern="**/f1999.py"))
    first = [{"path": f"d{n}/f", "text": str(n)} for n in range(60)]
    await call("workspace.write", workspace="w", version=0, files=first)

    def write(number: int) -> Awaitable[None]:
        files = [{"path": "d1/f", "text": f"text {number}"}]
        return call("workspace.write", workspace="w", files=files)

    async def write_and_commit(number: int) -> None:
        await write(1_000 + number)
        await call("workspace.commit", workspace="w")

    await median("workspace.write", 30, write)
    await median("workspace.write and commit", 30, write_and_commit)
    await median("workspace.read", 50, lambda n: call("workspace.read", workspace="w", path="d1/f"))


if __name__ == "__main__":
    asyncio.run(main())
