"""The world outside the runtime under test: its model, its bank, and what they remember.

Whatever is told here is fsynced line by line into files the runtime does not know, so that it is
true whatever becomes of the runtime and of its process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from disk import Disk

FINAL = "All is done."
ORPHAN = Path(__file__).with_name("orphan.py")

SCRIPTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "one after the other": (("A",), ("B",)),
    "at once": (("A", "B", "C"),),
    "one": (("A",),),
    "in a child run": ((), ("A",)),
}
"""The orders that the model places, reply by reply; then it says FINAL. In a child run an order is
a line that is added to a file, and what counts is what stands in the file in the end."""


@dataclass(frozen=True)
class Say:
    """A reply: calls of ``charge``, as (id, order), or the final text."""

    calls: tuple[tuple[str, str], ...]
    text: str


@dataclass(frozen=True)
class Plan:
    """The failure that one process meets.

    ``at`` is a point it passes, such as ``("charge", "A", "after")``; there it is killed, or with
    ``freeze`` stopped. ``disk`` makes its n-th change to the runtime's files fail. ``clock`` moves
    the wall clock by so many seconds when an effect begins, or from the ``start``. ``approve`` says
    that a person has approved what waited. With ``hold`` an effect begins, and goes on when it may
    (:meth:`Outside.let_go`). With ``orphan`` a process that the tool starts has the effect, and the
    runtime is killed before it.
    """

    at: tuple[str, str, str] | None = None
    freeze: bool = False
    disk: tuple[str, int] | None = None
    clock: tuple[str, int] | None = None
    approve: bool = False
    hold: bool = False
    orphan: bool = False


@dataclass
class Outside:
    """The model and the bank, as one process of a trial meets them."""

    folder: Path
    script: str
    plan: Plan = Plan()
    resumed: bool = False
    approval: bool = False
    probe: bool = False
    """Whether the tool can be asked what happened."""
    apart: bool = False
    """Whether the tool's work is done by a process that it starts."""
    take_over: bool = False
    """Whether an operator has said that the run's former owner shall not go on."""
    runtime: int = field(default_factory=os.getpid)
    disk: Disk = field(default_factory=Disk)

    @property
    def state(self) -> Path:
        """The folder that the runtime may write to."""
        return self.folder / "state"

    def model(self, turn: int, told: Sequence[tuple[str, str]]) -> Say:
        """Ask the model, which costs money.

        ``turn`` is the number of its replies that the conversation holds, ``told`` what the
        conversation says came of each order.
        """
        number = len(self.read("requests"))
        self.write("requests", {"turn": turn, "told": list(told)})
        self.reach("model", str(turn), "before")
        turns = SCRIPTS[self.script]
        orders = turns[turn] if turn < len(turns) else ()
        calls = tuple((f"call_{number}_{n}", order) for n, order in enumerate(orders))
        return Say(calls, "" if calls else FINAL)

    async def charge(self, order: str) -> str:
        """Charge a customer for an order: what must happen once."""
        self.write("begun", {"order": order, "requests": len(self.read("requests"))})
        self.set_clock("effect")
        if self.script == "at once" and order != "A":
            await asyncio.sleep(0.3)  # A's result can be recorded, by a runtime that does
        if self.plan.hold:
            await self._held()
        self.reach("charge", order, "before")
        if self.plan.orphan:
            command = [sys.executable, str(ORPHAN), str(self.folder), order, str(self.runtime)]
            await asyncio.to_thread(subprocess.run, command, check=False)
        self.write("effects", {"order": order})
        self.reach("charge", order, "after")
        return f"charged {order}"

    def has_charged(self, order: str) -> bool:
        """Ask the bank, which changes nothing: the tool's probe."""
        return any(line["order"] == order for line in self.read("effects"))

    async def _held(self) -> None:
        """Say that the effect has begun, and wait until it may go on."""
        (self.folder / "held").touch()
        while not (self.folder / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)

    def let_go(self) -> None:
        """Let what is held go on."""
        (self.folder / "go").touch()

    def set_clock(self, when: str) -> None:
        """Somebody sets the clock."""
        if self.plan.clock and self.plan.clock[0] == when:
            self.disk.shift_clock(self.plan.clock[1])

    def reach(self, place: str, name: str, when: str) -> None:
        """A point is passed: end here if this is where to end."""
        if self.plan.at == (place, name, when):
            os.kill(os.getpid(), signal.SIGSTOP if self.plan.freeze else signal.SIGKILL)

    def write(self, file: str, line: dict[str, Any]) -> None:
        """Add a line to a ledger, durably."""
        handle = os.open(self.folder / f"{file}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(handle, json.dumps(line).encode() + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)

    def read(self, file: str) -> list[Any]:
        """The lines of a ledger."""
        path = self.folder / f"{file}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class NothingToResumeError(Exception):
    """The runtime knows nothing of the run."""


class DamagedError(Exception):
    """The runtime says that what it had written was changed, and goes no further."""


class WaitingError(Exception):
    """The run rests until a person has approved what it asks about."""
