"""Where a trial happens: real processes, one after the other, each with its own misfortune.

This process has imported the runtime; every process of a trial is forked from it, so that nobody
pays for the imports. It is itself started by run.py, under the failing disk.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import shutil
import signal
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from disk import Disk
from judge import Counts, judge
from outside import NothingToResumeError, Outside, Plan, WaitingError

DONE, WAITING, NOTHING, RAISED = 0, 3, 4, 5
PATIENCE_S = 120


class Adapter(Protocol):
    """A runtime, used as its own documentation says."""

    NAME: str
    WARM: bool
    """Whether it leaves no thread behind, so that processes can be forked when it has run."""
    CHILDREN: bool
    """Whether it can be asked for a run that starts others (the script ``in a child run``)."""
    NOT: dict[str, str]
    """Scenarios that cannot be tried, each with the reason."""

    def version(self) -> str:
        """What was tried."""

    async def drive(self, outside: Outside) -> None:
        """Begin the run, or resume it, and bring it to its end.

        Raises:
            NothingToResumeError: the runtime knows nothing of the run.
            WaitingError: the run waits for a person.
        """


class Stage:
    """Plays trials of one adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.disk = bool(Disk())
        """Whether the failing disk is there."""
        if adapter.WARM:
            self._warm_up()
        self.errors: list[str] = []
        """What the last processes of unrecoverable trials said."""

    def _warm_up(self) -> None:
        """Run once in this process, so that no process of a trial pays for imports."""
        with self._folder() as folder:
            asyncio.run(self._adapter.drive(Outside(folder, "one")))
        gc.collect()
        gc.freeze()

    def play(self, script: str, plans: Sequence[Plan], torn: bool = False) -> Counts:
        """Play a trial: a process for each plan, and a last one that nothing befalls."""
        with self._folder() as folder:
            approval = any(plan.approve for plan in plans)
            ended, frozen = NOTHING, []
            for number, plan in enumerate([*plans, Plan(approve=approval)]):
                world = Outside(folder, script, plan, number > 0, approval)
                pid = self._fork(world)
                ended, stopped = _wait(pid)
                if stopped:
                    frozen.append(pid)
                    continue
                if ended == DONE:
                    break
                if torn and number == 0:
                    _tear(world.state)
            finished = ended == DONE
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
                _wait(pid)
            counts = judge(world, finished)
            if counts.faults and os.environ.get("CRASH_KEEP"):
                shutil.copytree(folder, Path(os.environ["CRASH_KEEP"]) / folder.name)
            if not finished:
                self.errors.append(_last_words(folder))
            return counts

    def changes(self, script: str, approval: bool = False) -> int:
        """How often an undisturbed run changes the runtime's files."""
        with self._folder() as folder:
            world = Outside(folder, script, Plan(disk=("watch", 0)), False, approval)
            if _wait(self._fork(world))[0] != DONE:
                raise RuntimeError(f"An undisturbed run fails: {_last_words(folder)}")
            return int((folder / "changes").read_text())

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(prefix="crash-"))
        (folder / "state").mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _fork(self, world: Outside) -> int:
        pid = os.fork()
        if pid == 0:
            code = RAISED
            with suppress(BaseException):
                code = self._live(world)
            os._exit(code)
        return pid

    def _live(self, world: Outside) -> int:
        """The life of a process of a trial: how it ends, when it does."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        log = os.open(world.folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        world.set_clock("start")
        if world.plan.disk:
            world.disk.arm(world.state, *world.plan.disk)
        try:
            asyncio.run(self._drive(world))
        except NothingToResumeError:
            traceback.print_exc()
            return NOTHING
        except WaitingError:
            os.kill(os.getpid(), signal.SIGKILL)
        except BaseException:  # noqa: BLE001 - whatever a runtime says
            traceback.print_exc()
            return RAISED
        (world.folder / "changes").write_text(str(world.disk.count()))
        return DONE

    async def _drive(self, world: Outside) -> None:
        try:
            await self._adapter.drive(world)
        except NothingToResumeError:
            if world.read("requests"):
                raise
            world.resumed = False  # nothing was begun that could be resumed
            await self._adapter.drive(world)


def _wait(pid: int) -> tuple[int, bool]:
    """How a process ended, or that it was stopped. One that hangs is killed."""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.alarm(PATIENCE_S)
    _, status = os.waitpid(pid, os.WUNTRACED)
    signal.alarm(0)
    stopped = os.WIFSTOPPED(status)
    return (NOTHING if stopped else os.waitstatus_to_exitcode(status)), stopped


def _tear(state: Path) -> None:
    """Cut the last bytes off the file that was written last, where a file is only appended to."""
    logs = [p for p in state.rglob("*") if p.name.endswith(("-wal", ".jsonl")) and p.stat().st_size]
    if logs:
        last = max(logs, key=lambda path: path.stat().st_mtime_ns)
        os.truncate(last, last.stat().st_size - min(100, last.stat().st_size // 2))


def _last_words(folder: Path) -> str:
    with suppress(OSError, IndexError):
        return [line for line in (folder / "log.txt").read_text().splitlines() if line.strip()][-1]
    return ""
