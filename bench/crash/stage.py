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
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from disk import Disk
from judge import Counts, judge
from outside import DamagedError, NothingToResumeError, Outside, Plan, WaitingError

DONE, WAITING, NOTHING, RAISED, DAMAGED = 0, 3, 4, 5, 6
PATIENCE_S = 120


class Adapter(Protocol):
    """A runtime, used as its own documentation says."""

    NAME: str
    WARM: bool
    """Whether it leaves no thread behind, so that processes can be forked when it has run."""
    CHILDREN: bool
    """Whether it can be asked for a run that starts others (the script ``in a child run``)."""
    PROBES: bool
    """Whether it can ask a tool what has happened."""
    NOT: dict[str, str]
    """Scenarios that cannot be tried, each with the reason."""

    def version(self) -> str:
        """Return the version that is tried."""

    async def drive(self, outside: Outside) -> None:
        """Begin the run, or resume it, and bring it to its end.

        Raises:
            NothingToResumeError: the runtime knows nothing of the run.
            WaitingError: the run waits for a person.
        """


class Stage:
    """Plays trials of one adapter."""

    def __init__(self, adapter: Adapter, seed: int | None = None) -> None:
        self._adapter, self.seed = adapter, seed
        self.disk = bool(Disk())
        """Whether the failing disk is there."""
        self.warm_up("one")
        self.errors: list[str] = []
        """The last output of the processes of unrecoverable trials."""

    def warm_up(self, script: str) -> None:
        """Run it once in this process, so that no process of a trial pays for imports."""
        if not self._adapter.WARM:
            return
        with self._folder() as folder:
            asyncio.run(self._adapter.drive(Outside(folder, script)))
        gc.collect()
        gc.freeze()

    def play(self, script: str, plans: Sequence[Plan], torn: bool = False) -> Counts:
        """Play a trial: a process for each plan, and a last one that nothing befalls."""
        with self._folder() as folder:
            approval = any(plan.approve for plan in plans)
            ended, frozen = NOTHING, []
            for number, plan in enumerate([*plans, Plan(approve=approval)]):
                world = Outside(folder, script, plan, number > 0, approval, take_over=bool(frozen))
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
            return self._judged(world, finished, torn and ended == DAMAGED)

    def _judged(self, world: Outside, finished: bool, refused: bool = False) -> Counts:
        counts = judge(world, finished, refused)
        if counts.faults and os.environ.get("CRASH_KEEP"):
            shutil.copytree(world.folder, Path(os.environ["CRASH_KEEP"]) / world.folder.name)
        if not finished and not refused:
            self.errors.append(_last_words(world.folder))
        return counts

    def play_beside(self, script: str, plan: Plan, others: int = 1, probe: bool = False) -> Counts:
        """Play a trial of processes side by side: one for the plan, and others that resume its run.

        The first may be dead by then, stand still, or be in the middle of a call, which goes on
        when the others have ended. When none has finished, a last one resumes the run.
        """
        with self._folder() as folder:
            first = Outside(folder, script, plan, probe=probe, apart=plan.orphan)
            pid = self._fork(first)
            alive = _comes_to(pid, plan, folder / "held")
            again = [self._beside(first) for _ in range(others)]
            ended = [_wait(other)[0] for other in [self._fork(world) for world in again]]
            first.let_go()
            if alive:
                os.kill(pid, signal.SIGCONT)
                ended.append(_wait(pid)[0])
            if DONE not in ended:
                ended.append(_wait(self._fork(self._beside(first)))[0])
            _outlive(folder / "orphan")
            return self._judged(first, DONE in ended)

    def _beside(self, first: Outside) -> Outside:
        return Outside(
            first.folder, first.script, Plan(), True, probe=first.probe, apart=first.apart
        )

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
        world.runtime = os.getpid()
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
        except DamagedError:
            traceback.print_exc()
            return DAMAGED
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


def _comes_to(pid: int, plan: Plan, held: Path) -> bool:
    """Wait until what befalls a process has; whether it is alive then."""
    if not plan.hold:
        return _wait(pid)[1]
    deadline = time.monotonic() + PATIENCE_S
    while not held.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return True


def _outlive(orphan: Path) -> None:
    """Wait until a process that a tool left has ended, however it does."""
    deadline = time.monotonic() + PATIENCE_S
    while orphan.exists() and time.monotonic() < deadline:
        try:
            os.kill(int(orphan.read_text() or 0), 0)
        except (ProcessLookupError, ValueError):
            return
        time.sleep(0.01)


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
