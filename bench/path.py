"""The files and functions that a prompt passes: one prompt, one function tool, two replies.

Prints the functions of Artificer that are entered from ``World.run`` to its result, in memory, the
files they are in, and the calls from one file into another; then the same for ``artificer run``.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import artificer
from artificer import Agent, World, tool
from artificer.cli.main import perform
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply

ROOT = str(Path(artificer.__file__).parent) + "/"


@tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def answer(body: JsonObject) -> ModelReply:
    """Call the tool, and then say its result."""
    said = [message["role"] for message in body["messages"]]
    return say("It is 3.") if "assistant" in said else reply(call("add", a=1, b=2))


agent = Agent(model=ScriptedProvider(answer), tools=[add], kind="chat")
"""The agent of both paths; the command line imports it by its name."""


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


async def in_memory() -> Trail:
    """Run the prompt twice, and trace the second time, when everything is imported."""
    path = Trail()
    async with World.in_memory() as world:
        await world.run("Add 1 and 2.", agent)
        with path.traced():
            run = await world.run("Add 1 and 2.", agent)
        assert run.text == "It is 3."
    return path


def on_the_command_line() -> Trail:
    """Do the same with ``artificer run``."""
    path, printed = Trail(), io.StringIO()
    with TemporaryDirectory() as home, redirect_stdout(printed), redirect_stderr(io.StringIO()):
        words = ["--home", home, "run", "Add 1 and 2.", "--agent", f"{Path(__file__).stem}:agent"]
        perform(words)
        with path.traced():
            perform(words)
    assert printed.getvalue() == "It is 3.\n" * 2
    return path


def main() -> None:
    """Print the counts of both paths, and with ``--list`` every function."""
    for title, path in (
        ("World.run", asyncio.run(in_memory())),
        ("artificer run", on_the_command_line()),
    ):
        rooms = {file.partition("/")[0] for file in path.files}
        print(f"{title}")
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
