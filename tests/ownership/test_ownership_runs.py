"""A run has one owner, and nobody takes it from a living one unasked: with real processes."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from processes import Place, place_in

from artificer.errors import OperatorError, OwnedError
from artificer.ownership.local import LocalOwner
from artificer.ownership.process import owner_of
from artificer.ports import Claim, Journal
from artificer.providers.scripted import say
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.rig import Rig
from wrapped_journal import WrappedJournal

pytestmark = pytest.mark.req("run-owner")
PROBES = pytest.mark.parametrize("probe", [False, True], ids=["no probe", "probe"])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path) as place:
        yield place


def statuses(outcome: dict[str, Any]) -> list[str]:
    return [status for status, _ in outcome["results"]]


@PROBES
@pytest.mark.parametrize("kind", ["async", "function", "command"])
def test_a_live_run_is_not_resumed_and_its_owner_is_named(
    place: Place, kind: str, probe: bool
) -> None:
    owner = place.under_way(kind=kind, probe=probe)
    refused = place.start("resume", kind=kind, probe=probe).outcome()
    assert refused["error"] == "owned"
    assert f"process {owner.pid} on " in refused["message"]
    assert "--take-over" in refused["hint"]
    place.allow()
    outcome = owner.end()
    assert (outcome["status"], statuses(outcome)) == ("completed", ["ok"])
    assert len(place.ledger("begin")) == len(place.ledger("act")) == 1


@PROBES
@pytest.mark.parametrize("effect", ["once", "keyed", "idempotent"])
def test_a_frozen_owner_is_alive_and_what_is_taken_from_it_is_ambiguous(
    place: Place, effect: str, probe: bool
) -> None:
    owner = place.under_way(kind="async", probe=probe, effect=effect)
    owner.send(signal.SIGSTOP)
    facts = {"kind": "async", "probe": probe, "effect": effect}
    assert place.start("resume", **facts).outcome()["error"] == "owned"
    taken = place.start("resume", take_over=True, **facts).outcome()
    assert (taken["status"], statuses(taken)) == ("completed", ["ambiguous"])
    assert f"process {owner.pid} on " in taken["results"][0][1]
    place.allow()
    owner.send(signal.SIGCONT)
    assert owner.end()["error"] == "fenced"
    assert len(place.ledger("begin")) == 1, "nothing was repeated"
    assert taken["identical"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_who_takes_a_run_and_dies_leaves_its_calls_in_doubt(
    place: Place, number: signal.Signals
) -> None:
    """The next one to resume it does not take the first owner for dead."""
    facts = {"kind": "async", "probe": True}
    owner = place.under_way(**facts)
    owner.send(signal.SIGSTOP)
    taker = place.start("resume", take_over=True, probe_sends=number, **facts)
    taker.go()
    taker.gone()
    assert place.start("resume", **facts).outcome()["error"] == "owned"
    taken = place.start("resume", take_over=True, **facts).outcome()
    assert statuses(taken) == ["ambiguous"]
    assert f"process {owner.pid} on " in taken["results"][0][1]
    place.allow()
    owner.send(signal.SIGCONT)
    assert owner.end()["error"] == "fenced"
    assert len(place.ledger("begin")) == 1, "nothing was repeated"


@pytest.mark.parametrize("effect", ["once", "keyed", "idempotent"])
def test_what_is_cancelled_from_outside_may_have_happened(place: Place, effect: str) -> None:
    owner = place.under_way(kind="async", effect=effect)
    cancelled = place.start("cancel").outcome()
    assert (cancelled["status"], statuses(cancelled)) == ("cancelled", ["ambiguous"])
    place.allow()
    assert owner.end()["error"] == "fenced"


@pytest.mark.req("cancel-stops")
@pytest.mark.parametrize("kind", ["async", "process"])
def test_a_run_that_is_cancelled_from_outside_performs_nothing_more(
    place: Place, kind: str
) -> None:
    """Its process waits for nothing that the call waits for."""
    owner = place.under_way(kind=kind, effect="once")
    assert place.start("cancel").outcome()["status"] == "cancelled"
    assert owner.end()["error"] == "fenced"
    place.allow()
    assert place.ledger("act") == []


def test_a_pure_call_of_a_run_that_was_taken_over_is_made_again(place: Place) -> None:
    owner = place.under_way(kind="async", effect="pure")
    owner.send(signal.SIGSTOP)
    place.allow()
    taken = place.start("resume", take_over=True, kind="async", effect="pure").outcome()
    assert (taken["status"], statuses(taken)) == ("completed", ["ok"])


@PROBES
def test_of_contenders_for_a_dead_owners_run_one_drives_it(place: Place, probe: bool) -> None:
    owner = place.under_way(kind="async", probe=probe)
    owner.send(signal.SIGKILL)
    place.allow()
    contenders = [place.start("resume", kind="async", probe=probe) for _ in range(5)]
    for contender in contenders:
        contender.go()
    outcomes = [contender.end() for contender in contenders]
    drove = [outcome for outcome in outcomes if "error" not in outcome]
    assert drove, outcomes
    assert {outcome["status"] for outcome in drove} == {"completed"}
    assert {o["error"] for o in outcomes if "error" in o} <= {"owned", "fenced"}
    wanted = ["ok"] if probe else ["ambiguous"]
    assert all(statuses(outcome) == wanted for outcome in drove)
    assert len(place.ledger("act")) == (1 if probe else 0)


async def test_contenders_in_one_process_leave_one_driver(tmp_path: Path) -> None:
    owners = [LocalOwner() for _ in range(8)]
    async with SqliteJournal(tmp_path / "journal.db", "process") as journal:
        held, refused = 0, 0
        for owner in owners:
            hold = owner.hold("r")
            try:
                await journal.acquire("r", Claim(owner.id, admit=hold.admit))
                held += 1
            except OwnedError:
                refused += 1
        assert (held, refused) == (1, 7)


def descriptors() -> int:
    """How many this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_ten_thousand_waiting_runs_need_no_descriptor_each(tmp_path: Path) -> None:
    owner = owner_of(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with SqliteJournal(tmp_path / "journal.db", "process") as journal:
        used = descriptors()
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 8, before[1]))
        try:
            for number in range(10_000):
                hold = owner.hold(f"r{number}")
                await journal.acquire(hold.run, Claim(owner.id, admit=hold.admit))
            assert descriptors() <= used + 2  # of the owner, and of the journal's log
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(owner.owned_runs) == 10_000
    owner.owned_runs.clear()
    owner.close()


def test_a_forked_process_keeps_no_owner_alive(place: Place, tmp_path: Path) -> None:
    """The lock is the process's own: what it forked and left behind does not hold it."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        name = owner_of(tmp_path).id
        child = os.fork()
        if child:
            os.write(writable, f"{name} {child}.".encode())
        signal.pause()
        os._exit(0)
    os.close(writable)
    said = b""
    while not said.endswith(b"."):
        said += os.read(readable, 100)
    former, child = said.decode().rstrip(".").split()
    owner = owner_of(tmp_path)
    try:
        assert owner.look(former, "r", owner.hold("r")).liveness == "alive"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.kill(int(child), 0)
        assert owner.look(former, "r", owner.hold("r")).liveness == "gone"
    finally:
        os.kill(int(child), signal.SIGKILL)
        owner.close()


def test_an_owner_that_nobody_can_ask_after_may_live(place: Place) -> None:
    """An older release acquired the run and wrote no owner, or somebody removed its file."""
    owner = place.under_way(kind="async", effect="keyed")
    owner.send(signal.SIGKILL)
    with sqlite3.connect(place.folder / "home/p/journal.db") as db:
        db.execute("DELETE FROM owners")
    db.close()
    resumed = place.start("resume", kind="async", effect="keyed").outcome()
    assert (resumed["status"], statuses(resumed)) == ("completed", ["ambiguous"])
    assert "not known to be dead" in resumed["results"][0][1]


def test_an_owner_whose_lock_was_dropped_is_found_by_its_number(tmp_path: Path) -> None:
    """Closing any descriptor of the file drops a record lock: the process is still looked for."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        name = owner_of(tmp_path).id
        (tmp_path / "owners" / f"{name}.owner").read_bytes()  # opens and closes it
        os.write(writable, name.encode())
        signal.pause()
        os._exit(0)
    os.close(writable)
    name = os.read(readable, 100).decode()
    owner = owner_of(tmp_path)
    try:
        found = owner.look(name, "r", owner.hold("r"))
        assert found.liveness == "alive" and f"process {pid} on " in found.who
    finally:
        owner.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert owner.look(name, "r", owner.hold("r")).liveness == "gone"


@pytest.mark.req("run-owner-closed")
async def test_a_run_that_could_not_be_released_is_free_when_its_owner_is_closed(
    tmp_path: Path,
) -> None:
    """A full disk may have kept the journal from saying that nobody owns the run any more."""
    owner = owner_of(tmp_path)
    async with SqliteJournal(tmp_path / "journal.db", "process") as journal:
        name, hold = owner.id, owner.hold("r")
        await journal.acquire("r", Claim(name, admit=hold.admit))
        hold.end(released=False)
    owner.close()
    assert look_elsewhere(tmp_path, name) == "gone", "this process lives, but owns nothing"
    again = owner_of(tmp_path)
    assert again.look(name, "r", again.hold("r")).liveness == "gone"
    again.close()


class Full(WrappedJournal):
    """A journal whose disk is full when a run ends."""

    is_full = False

    async def release(self, run: str, epoch: int) -> None:
        if self.is_full:
            raise OperatorError("The disk is full.")
        await super().release(run, epoch)


async def recorded_owner(journal: Journal, run: str) -> str | None:
    """Return the owner that the journal names to another process, and change nothing."""
    named: list[str | None] = []

    def refuse(former: str | None) -> str:
        named.append(former)
        raise OwnedError("Only a look.")

    with suppress(OwnedError):
        await journal.acquire(run, Claim("other", admit=refuse))
    return named[0]


@pytest.mark.req("run-owner-released-later")
async def test_a_run_that_could_not_be_released_is_free_when_the_next_one_ends(
    tmp_path: Path,
) -> None:
    owner = owner_of(tmp_path)
    async with SqliteJournal(tmp_path / "journal.db", "process") as stored:
        rig = Rig(journal := Full(stored), owner=owner)
        journal.is_full = True
        await rig.run([say("Hello.")], run="a")
        assert await recorded_owner(stored, "a") == owner.id
        journal.is_full = False
        await rig.run([say("Hello.")], run="b")
        assert await recorded_owner(stored, "a") == ""
        assert owner.unreleased == 0
    owner.close()


@pytest.mark.req("run-owner-closed")
def test_a_program_that_its_own_process_has_replaced_is_gone(tmp_path: Path) -> None:
    """As a server does that starts itself again: its process id and its start stay the same."""
    after = LOOK.format(folder=str(tmp_path), name="sys.argv[1]")
    before = (
        "import os, pathlib, sys\n"
        "from artificer.ownership.process import owner_of\n"
        f"name = owner_of(pathlib.Path({str(tmp_path)!r})).id\n"
        f"os.execv(sys.executable, [sys.executable, '-c', {after!r}, name])\n"
    )
    command = [sys.executable, "-c", before]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "gone\n"


LOOK = (
    "import pathlib, sys\n"
    "from artificer.ownership.process import owner_of\n"
    "owner = owner_of(pathlib.Path({folder!r}))\n"
    "print(owner.look({name}, 'r', owner.hold('r')).liveness)\n"
)


def look_elsewhere(folder: Path, owner: str) -> str:
    """Return the liveness of an owner, as another process finds it."""
    command = [sys.executable, "-c", LOOK.format(folder=str(folder), name=repr(owner))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_what_an_owner_writes_is_private_and_is_gone_when_it_is_closed(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        owner = owner_of(tmp_path)
        assert not (tmp_path / "owners").exists(), "who only reads writes nothing"
        name = owner.id
    finally:
        os.umask(before)
    file = tmp_path / "owners" / f"{name}.owner"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert owner_of(tmp_path) is owner
    owner.close()
    assert file.exists()
    owner.close()
    assert not file.exists()
