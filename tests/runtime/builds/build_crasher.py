"""Builds whose process kills itself: python build_crasher.py

Reads one scenario a line, as JSON: ``{"folder": ..., "job": "parts", "kill": 17, "torn": false,
"over": false}``. For each it forks a child that begins the build in the folder, or takes it up, and
kills itself with SIGKILL at its n-th point: before a file or folder is made, renamed or removed,
before a program is started, and before and after each append to the journal. With ``torn`` the file
that is about to be written is there and empty when the process dies. With ``over`` the point is the
first one after the end of the build is recorded.

Answers each line with how the child ended: ``killed``, ``done``, or what went wrong. Points are
listed in ``points.txt``, what was asked of the model and what of it was recorded in ``asked.txt``.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engineer import Engineer, Job
from parts import ONE, PARTS
from site_of_builds import Approving

import artificer.wiring.builds  # noqa: F401 - once, not in every child
from artificer.agent import Agent
from artificer.backends.sandbox.sandbox import findings
from artificer.builds.facts import BuildOptions
from artificer.config import Config
from artificer.ports import (
    UNCLAIMED,
    Claim,
    Journal,
    Lease,
    Record,
    Storage,
)
from artificer.providers.scripted import ScriptedProvider, ScriptedReply
from artificer.values.base import JsonObject
from artificer.values.canon import canonical, digest_of
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import OpenStorage, open_storage
from artificer.world import World
from wrapped_journal import WrappedJournal

JOBS = {"parts": replace(PARTS, tries=True), "one": ONE}

FILES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
"""Audit events of changes to files, beside ``open``."""


class Points:
    """Counts what this process does to the world, and ends it at the n-th point."""

    def __init__(
        self, folder: Path, kill: int | None = None, *, torn: bool = False, over: bool = False
    ) -> None:
        self.folder = str(folder / "home")
        self.kill = kill
        self.torn = torn
        self.over = over
        self.count = 0
        self.log = os.open(folder / "points.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def reached(self, what: str, file: str = "") -> None:
        """A point is reached."""
        self.count += 1
        os.write(self.log, f"{what}\n".encode())
        if self.count == self.kill:
            if self.torn and file:
                os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Observe the interpreter's next action (sys.addaudithook)."""
        if event == "subprocess.Popen" and not str(args[0]).endswith("true"):
            words = [w for w in map(str, args[1]) if w.isalpha() or "-" in w[1:]]
            self.reached(f"start {' '.join(words[-6:])}")
        elif event == "open" and self._ours(args[0]) and args[2] & os.O_ACCMODE:
            self.reached(f"write {args[0]}", str(args[0]))
        elif event in FILES and any(map(self._ours, args)) and _does(event, args[0]):
            self.reached(f"{event} {args[0]}")

    def _ours(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self.folder)


def _does(event: str, path: str) -> bool:
    """Whether it comes to anything: folders are made that are there, files removed that are not."""
    return os.path.lexists(path) != (event == "os.mkdir")


class KillingJournal(WrappedJournal):
    """A journal whose process may die at an append."""

    def __init__(self, inner: Journal, points: Points, folder: Path) -> None:
        super().__init__(inner)
        self.points = points
        self.asked = folder / "asked.txt"

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        self.points.reached("acquire")
        return await super().acquire(run, claim)

    async def before(self) -> None:
        self.points.reached("before append")

    async def after(self, run: str, records: Sequence[Record]) -> None:
        for record in records:
            await self.recorded(run, record)
        self.points.reached("after append")

    async def recorded(self, run: str, record: Record) -> None:
        """Note which replies are recorded now, and the end of the build."""
        event = json.loads(record.body).get("event", {})
        if self.points.over and run == "b" and event.get("type") == "RunFinished":
            self.points.kill = self.points.count + 2  # the next is that of this append
        if event.get("type") != "ModelResponded":
            return
        for line in map(json.loads, (r.body for r in await self.inner.read(run))):
            if line.get("intent", {}).get("n") == event["intent"]:
                note(self.asked, f"recorded {line['request']}")


class KillingStorage:
    """A storage whose journal kills."""

    def __init__(self, inner: Storage, journal: KillingJournal) -> None:
        self.journal = journal
        self.blobs = inner.blobs
        self.signals = inner.signals
        self.budget = inner.budget
        self.versions = inner.versions
        self.snapshots = inner.snapshots
        self.aclose = inner.aclose


def note(file: Path, text: str) -> None:
    """Append a line that outlives the process."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(text + "\n")


async def drive(folder: Path, points: Points, job: Job) -> None:
    """Begin the build, or take it up."""
    engineer = Engineer(job)

    def answer(body: JsonObject) -> ScriptedReply:
        note(folder / "asked.txt", f"asked {digest_of(canonical(body))}")
        return engineer(body)

    config = Config(home=folder / "home", project="p", durability="process")
    storage = await open_storage(config)
    journal = KillingJournal(storage.journal, points, folder)
    agent, decider = Agent(model=ScriptedProvider(answer), kind="chat"), Approving()
    stored = KillingStorage(storage.storage, journal)
    killing = OpenStorage(stored, storage.owner, storage.locks, storage.evidence)
    async with World(WorldResources(config, killing)) as world:
        if await storage.journal.read("b", limit=1):
            run = await world.resume("b", agent, decider=decider)
        else:
            options = BuildOptions(size="small", parallel=2)
            run = await world.build(
                "Make it.",
                agent,
                project=folder / "p",
                options=options,
                decider=decider,
                run_id="b",
            )
    note(folder / "ended.txt", run.status)


def child(folder: Path, points: Points, job: Job) -> int:
    """The life of a child: its exit code."""
    sys.addaudithook(points.audit)
    try:
        asyncio.run(drive(folder, points, job))
    except Exception:  # noqa: BLE001 - whoever asked wants to know
        note(folder / "errors.txt", traceback.format_exc())
        return 1
    return 0


def main() -> None:
    """Serve scenarios until the input ends."""
    findings()
    gc.freeze()
    for line in sys.stdin:
        scenario = json.loads(line)
        pid = os.fork()
        if pid == 0:
            folder = Path(scenario.pop("folder"))
            job = JOBS[scenario.pop("job")]
            os._exit(child(folder, Points(folder, **scenario), job))
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        words = {0: "done", -signal.SIGKILL: "killed"}
        print(words.get(code, f"ended with {code}"), flush=True)


if __name__ == "__main__":
    main()
