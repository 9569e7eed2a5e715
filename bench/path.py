"""The files and functions that a prompt passes: one prompt, one function tool, two replies.

Prints the functions of Artificer that are entered from ``World.run`` to its result, in memory, the
files they are in, and the calls from one file into another.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import artificer
from artificer import Agent, World, tool
from artificer.providers.scripted import ScriptedProvider, call, reply, say

ROOT = str(Path(artificer.__file__).parent) + "/"


@tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Trail:
    """The functions that were entered, and the calls between files."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.nested: set[tuple[str, str]] = set()
        self.crossings = 0
        self.to_journal: tuple[int, int] | None = None
        """Files and functions before the first record is appended."""

    @property
    def files(self) -> set[str]:
        """The files of the functions."""
        return {file for file, _ in self.functions}

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call (`sys.setprofile`)."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        name = code.co_qualname
        if "comp>" in name or "<genexpr>" in name or "<module>" in name:
            return
        place = (code.co_filename.removeprefix(ROOT), name)
        if self.to_journal is None and name.endswith("Journal.append"):
            self.to_journal = (len(self.files), len(self.functions))
        self.functions.add(place)
        if "<locals>" in name:
            self.nested.add(place)
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(ROOT):
            self.crossings += caller.f_code.co_filename != code.co_filename

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Trace this thread."""
        sys.setprofile(self.profile)
        try:
            yield
        finally:
            sys.setprofile(None)


async def measured() -> Trail:
    """Run the prompt twice, and trace the second time, when everything is imported."""
    path = Trail()
    async with World.in_memory() as world:
        for trace in (False, True):
            model = ScriptedProvider([reply(call("add", a=1, b=2)), say("It is 3.")])
            agent = Agent(model=model, tools=[add], kind="chat")
            if not trace:
                await world.run("Add 1 and 2.", agent)
                continue
            with path.traced():
                run = await world.run("Add 1 and 2.", agent)
            assert run.text == "It is 3."
    return path


def main() -> None:
    """Print the counts, and with ``--list`` every function."""
    path = asyncio.run(measured())
    rooms = {file.partition("/")[0] for file in path.files}
    print(f"files            {len(path.files)} in {len(rooms)} rooms")
    print(f"functions        {len(path.functions)}, of these nested {len(path.nested)}")
    print("to the journal   {} files, {} functions".format(*path.to_journal or (0, 0)))
    print(f"cross-file calls {path.crossings}")
    for file, name in sorted(path.nested):
        print(f"nested           {file}:{name}")
    if "--list" in sys.argv:
        for file, name in sorted(path.functions):
            print(f"{file}:{name}")


if __name__ == "__main__":
    main()
