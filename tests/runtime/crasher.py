"""Processes that kill themselves: python crasher.py

Reads one scenario a line, as JSON: ``{"folder": ..., "kill": [...]}``. For each it forks a child
that starts the run in the folder, or resumes it, and kills itself with SIGKILL at the given point:

    ["append", 3, "before"]          before the third append to the journal
    ["append", 3, "after"]           after it, before anybody hears of it
    ["charge", 1, "before"]          inside the first call of a tool, before its effect
    ["charge", 1, "after"]           after its effect, before it returns

Answers each line with how the child ended: ``killed``, ``done``, or what went wrong. The children
are real processes; forking them from one that has imported everything makes hundreds affordable.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from artificer.core.spec import Limits
from artificer.ownership.process import owner_of
from artificer.ports import (
    Call,
    Journal,
    Record,
)
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.storage.blobs.disk import DiskStore
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.rig import Rig
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply
from wrapped_journal import WrappedJournal

NARRATIVE = "The books are in order, as this list shows: {{artifact:list:books}}"
TURNS = (
    reply(call("look", at="ledger")),
    reply(call("charge", amount=5), call("note", text="first"), call("look", at="door")),
    reply(
        call("create_list", list={"kind": "list", "id": "books", "items": ["x" * 500] * 10}),
        call("charge", amount="much"),
        call("nothing"),
    ),
    reply(call("charge", amount=7), call("charge", amount=7)),
    say(NARRATIVE),
)
"""Five turns: pure, keyed and once tools, refused calls, a duplicate, a large payload."""


class Point:
    """Where this process dies."""

    def __init__(self, kill: list[Any] | None) -> None:
        self.kill = kill
        self.seen: dict[str, int] = {}

    def enter(self, place: str) -> None:
        """Something begins: the n-th of its kind."""
        self.seen[place] = self.seen.get(place, 0) + 1

    def reached(self, place: str, when: str) -> None:
        """Die here, if here is where to die."""
        if self.kill == [place, self.seen[place], when]:
            os.kill(os.getpid(), signal.SIGKILL)


class KillingJournal(WrappedJournal):
    """A journal whose process dies at an append."""

    def __init__(self, inner: Journal, point: Point) -> None:
        super().__init__(inner)
        self.point = point

    async def before(self) -> None:
        self.point.enter("append")
        self.point.reached("append", "before")

    async def after(self, run: str, records: Sequence[Record]) -> None:
        self.point.reached("append", "after")


def note(folder: Path, file: str, text: str) -> None:
    """Append a line that outlives the process."""
    with (folder / file).open("a", encoding="utf-8") as lines:
        lines.write(text + "\n")


def answer(folder: Path, body: JsonObject) -> ModelReply:
    """The model: what it says depends only on how far the conversation is."""
    messages: Any = body["messages"]
    note(folder, "requests.txt", f"{len(messages)} messages")
    return TURNS[sum(message["role"] == "assistant" for message in messages)]


def tools(rig: Rig, folder: Path, point: Point) -> None:
    """Offer tools whose effect is a line in a file."""

    async def effect(call: Call) -> str:
        name = call.definition.name
        point.enter(name)
        await asyncio.sleep(0)
        point.reached(name, "before")
        note(folder, "effects.txt", f"{name} {call.key}")
        point.reached(name, "after")
        return f"{name} is done"

    amount: JsonObject = {
        "type": "object",
        "properties": {"amount": {"type": "integer"}},
        "required": ["amount"],
    }
    rig.tools.add("look", effect, effect="pure")
    rig.tools.add("note", effect, effect="keyed")
    rig.tools.add("charge", effect, schema=amount, effect="once")


async def drive(folder: Path, kill: list[Any] | None) -> None:
    """Start the run, or resume it."""
    point = Point(kill)
    async with SqliteJournal(folder / "journal.db", "process") as journal:
        blobs = JoinedStore(journal.small, DiskStore(folder / "blobs", "process"))
        rig = Rig(KillingJournal(journal, point), blobs, owner=owner_of(folder))
        tools(rig, folder, point)
        provider = ScriptedProvider(lambda body: answer(folder, body))
        if await journal.read("run"):
            await rig.resume(provider)
        else:
            await rig.run(provider, kind="deliver", limits=Limits(turns=8))
        note(folder, "appends.txt", str(point.seen.get("append", 0)))


def child(folder: str, kill: list[Any] | None) -> int:
    """The life of a child: its exit code."""
    try:
        asyncio.run(drive(Path(folder), kill))
    except Exception:  # noqa: BLE001 - whoever asked wants to know
        note(Path(folder), "errors.txt", traceback.format_exc())
        return 1
    return 0


def main() -> None:
    """Serve scenarios until the input ends."""
    with tempfile.TemporaryDirectory() as folder:  # so that no child has to warm up
        child(folder, None)
    gc.freeze()
    for line in sys.stdin:
        scenario = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(child(scenario["folder"], scenario["kill"]))
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        words = {0: "done", -signal.SIGKILL: "killed"}
        print(words.get(code, f"ended with {code}"), flush=True)


if __name__ == "__main__":
    main()
