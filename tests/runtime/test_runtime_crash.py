"""SIGKILL at the writes of a five-turn run, and inside its tools; resumed in a new process.

A commit's seed draws the writes; `make test-all` kills at every one of them (sampling.py).
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from artificer.core import events as ev
from artificer.core.record import EventLine
from artificer.providers.scripted import ScriptedProvider
from artificer.runtime.load import Loaded, load
from artificer.runtime.proving.replay import replay
from artificer.runtime.proving.verify import verify
from artificer.storage.blobs.disk import DiskStore
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.rig import unpaired
from artificer.values.blocks import ToolResultBlock
from sampling import sample

HERE = Path(__file__).parent
KILLS = 12
"""Points of a run's journal at which it is killed."""

DONE = "appends.txt"
"""Gets a line from every process that was not killed."""


class Crasher:
    """The process whose children kill themselves; see crasher.py."""

    def __init__(self) -> None:
        command = [sys.executable, str(HERE / "crasher.py")]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        )

    def drive(self, folder: Path, kill: list[Any] | None = None) -> str:
        assert self._process.stdin and self._process.stdout
        print(json.dumps({"folder": str(folder), "kill": kill}), file=self._process.stdin)
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def crasher() -> Iterator[Crasher]:
    crasher = Crasher()
    yield crasher
    crasher.close()


@dataclass(frozen=True)
class Outcome:
    narrative: str
    artifacts: tuple[tuple[str, str], ...]
    calls: int


def new(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


def lines(folder: Path, file: str) -> list[str]:
    path = folder / file
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def stored(journal: SqliteJournal, folder: Path) -> JoinedStore:
    """The world's blobs, as the crashing process stored them."""
    return JoinedStore(journal.small, DiskStore(folder / "blobs", "process"))


async def read(folder: Path) -> Loaded | None:
    """The run as its journal tells it, or None when nothing was recorded."""
    async with SqliteJournal(folder / "journal.db", "process") as journal:
        if not await journal.read("run"):
            return None
        return await load(journal, stored(journal, folder), "run")


def replies(loaded: Loaded | None) -> int:
    recorded = loaded.lines if loaded else ()
    return sum(
        isinstance(line, EventLine) and isinstance(line.event, ev.ModelResponded)
        for line in recorded
    )


async def outcome(folder: Path) -> Outcome:
    """Return a finished run's outcome, after checking what holds for every run."""
    loaded = await read(folder)
    assert loaded is not None and lines(folder, "errors.txt") == []
    state = loaded.state
    assert (state.status, state.reason) == ("completed", "done")
    assert unpaired(state.history) == []
    effects = lines(folder, "effects.txt")
    results = [b for m in state.history for b in m.blocks if isinstance(b, ToolResultBlock)]

    charged = [effect for effect in effects if effect.startswith("charge")]
    assert len(charged) == len(set(charged)), "a once call ran twice"
    sure = [r for r in results if r.status == "ok" and r.content == "charge is done"]
    unsure = [r for r in results if r.status == "ambiguous"]
    assert len(sure) + len(unsure) == 2
    assert len(sure) <= len(charged) <= 2, "a call that is said to have run has run"
    assert len({effect for effect in effects if effect.startswith("note")}) == 1, "one key"

    async with SqliteJournal(folder / "journal.db", "process") as journal:
        blobs = stored(journal, folder)
        replayed = await replay(journal, blobs, "run", ScriptedProvider([]))
        assert replayed.identical and replayed.drift == [], replayed
        assert replayed.digest == state.digest
        assert (await verify(journal, blobs)).problems == []
    artifacts = tuple((ref.id, ref.payload) for ref in state.artifacts)
    return Outcome(state.narrative or "", artifacts, len(results))


@pytest.fixture(scope="module")
def whole(crasher: Crasher, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    assert crasher.drive(folder) == "done"
    return folder


async def survive(crasher: Crasher, folder: Path, *kills: list[Any]) -> Outcome:
    """Kill, resume, kill again, and at last let it finish."""
    before, asked = None, 0
    for kill in kills:
        assert crasher.drive(folder, kill) in ("killed", "done")  # done: it was over before
        before, asked = await read(folder), len(lines(folder, "requests.txt"))
    assert crasher.drive(folder) == "done", lines(folder, "errors.txt")
    again = len(lines(folder, "requests.txt")) - asked
    assert again == 5 - replies(before), "a recorded reply was asked for again"
    return await outcome(folder)


@pytest.mark.req("crash-resume")
class TestKilled:
    async def test_without_a_crash(self, whole: Path) -> None:
        result = await outcome(whole)
        assert result.calls == 9
        assert len(lines(whole, "requests.txt")) == 5
        effects = Counter(line.split()[0] for line in lines(whole, "effects.txt"))
        assert effects == {"look": 2, "note": 1, "charge": 2}

    async def test_at_every_append(self, crasher: Crasher, whole: Path, tmp_path: Path) -> None:
        expected = await outcome(whole)
        appends = int(lines(whole, DONE)[0])
        assert appends >= 10
        cut_short = 0
        every = list(itertools.product(range(1, appends + 1), ("before", "after")))
        points = sample(every, KILLS, purpose="append")
        for number, when in points:
            folder = new(tmp_path, f"{number}-{when}")
            assert await survive(crasher, folder, ["append", number, when]) == expected
            cut_short += len(lines(folder, DONE)) == 1
        assert cut_short >= len(points) - 2, "calls that end together share an append"

    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize("place", ["look 1", "charge 1", "note 1", "look 2", "charge 2"])
    async def test_inside_a_tool(
        self, crasher: Crasher, whole: Path, tmp_path: Path, place: str, when: str
    ) -> None:
        tool, number = place.split()
        kill = [tool, int(number), when]
        assert await survive(crasher, tmp_path, kill) == await outcome(whole)
        results = [line for line in lines(tmp_path, "effects.txt") if tool in line]
        if tool == "charge":
            expected = 1 if when == "before" else 2
            assert len(results) == expected, "what was never done is not said to be"

    async def test_twice(self, crasher: Crasher, whole: Path, tmp_path: Path) -> None:
        expected = await outcome(whole)
        appends = int(lines(whole, DONE)[0])
        for number in sample(range(1, appends), KILLS // 2, purpose="twice"):
            when = ("before", "after")[number % 2]
            folder = new(tmp_path, f"{number}-{when}")
            second = ["append", 1 + number % 2, ("after", "before")[number % 2]]
            kills = (["append", number, when], second)
            assert await survive(crasher, folder, *kills) == expected

    async def test_inside_a_tool_that_is_run_again(
        self, crasher: Crasher, whole: Path, tmp_path: Path
    ) -> None:
        kill = ["note", 1, "after"]
        assert await survive(crasher, tmp_path, kill, kill) == await outcome(whole)
        notes = [line for line in lines(tmp_path, "effects.txt") if "note" in line]
        assert len(notes) == 3 and len(set(notes)) == 1, "rerun with the same key"
