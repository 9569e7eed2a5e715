"""An owner with a lease: when it may act, and what it knows of owners on other hosts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from manual_leases import ManualLeases

from artificer.errors import Fenced, OperatorError, OwnedError
from artificer.ownership.fifo import holding
from artificer.ownership.leased import ProcessWithLease
from artificer.ports import LeasedOwner, OwnerHost

pytestmark = pytest.mark.req("owner-leases")

LONG = 3600.0
HERE, THERE = OwnerHost("m1", "b1", "here"), OwnerHost("m2", "b2", "there")
DEAD = LeasedOwner("dead", THERE, "process 7 on there")


@pytest.fixture
def leases() -> ManualLeases:
    return ManualLeases()


@pytest.fixture
def owner(leases: ManualLeases, tmp_path: Path) -> Iterator[ProcessWithLease]:
    owner = ProcessWithLease(tmp_path / "owners", leases, LONG, HERE, patience_s=0)
    owner.open()
    yield owner
    leases.away = False
    for hold in [*owner.owned_runs.values()]:
        hold.end(released=True)
    owner.close()


def former(owner: ProcessWithLease, name: str) -> tuple[str, str]:
    found = owner.look(name, "r", owner.hold("r"))
    return found.liveness, found.who


class CountingThreads(ThreadPoolExecutor):
    """Threads that count their work."""

    used = 0

    def submit(self, *work: Any, **more: Any) -> Any:
        self.used += 1
        return super().submit(*work, **more)


class TestOtherOwners:
    def test_an_owner_lives_as_long_as_its_lease_lasts(
        self, owner: ProcessWithLease, leases: ManualLeases
    ) -> None:
        leases.renew(DEAD, 30)
        leases.now = 29
        with pytest.raises(OwnedError, match="process 7 on there, which is alive: its lease ends"):
            owner.hold("r").admit("dead")
        leases.now = 31
        assert former(owner, "dead") == ("unknown", "process 7 on there, whose lease ended at 30")
        assert owner.hold("r").admit("dead") == "dead", "it may still act"
        leases.now = 10**9
        assert former(owner, "dead")[0] == "unknown", "however long ago"

    def test_an_owner_is_gone_when_its_host_says_so(
        self, owner: ProcessWithLease, leases: ManualLeases
    ) -> None:
        leases.renew(DEAD, 30)
        leases.end("dead", dead=True)
        assert former(owner, "dead")[0] == "gone"
        assert owner.hold("r").admit("dead") == ""
        assert former(owner, "never heard of")[0] == "unknown"
        assert former(owner, "")[0] == "gone"

    def test_the_lock_of_an_owner_on_this_host_says_more_than_its_lease(
        self, tmp_path: Path, owner: ProcessWithLease, leases: ManualLeases
    ) -> None:
        """It was killed and left its file; the lease would last for an hour."""
        killed = left_by_a_killed_process(tmp_path, leases)
        assert former(owner, killed)[0] == "gone"
        assert owner.gone_here() == [killed]

    def test_a_file_in_a_folder_that_hosts_share_says_nothing_of_another_host(
        self, tmp_path: Path, owner: ProcessWithLease, leases: ManualLeases
    ) -> None:
        killed = left_by_a_killed_process(tmp_path, leases, THERE)
        assert former(owner, killed)[0] == "alive"
        assert owner.gone_here() == []
        leases.now = LONG + 1
        assert former(owner, killed)[0] == "unknown"


class TestFindingDead:
    def test_who_is_dead_with_all_that_it_had_started_is_written_down_once(
        self, tmp_path: Path, owner: ProcessWithLease, leases: ManualLeases
    ) -> None:
        killed = left_by_a_killed_process(tmp_path, leases)
        assert owner.confirm_dead() == [], "its lease still lasts"
        leases.now = LONG + 1
        with holding(tmp_path / "calls" / killed / "key"):
            assert owner.confirm_dead() == [], "a process of one of its calls lives"
        with holding(tmp_path / "owners" / f"{killed}.servers"):
            assert owner.confirm_dead() == [], "a server of its calls lives"
        assert owner.confirm_dead() == [killed]
        assert owner.confirm_dead() == []
        found = leases.find(killed)
        assert found is not None and found.dead

    def test_nobody_is_found_dead_from_another_host_or_folder(
        self, tmp_path: Path, leases: ManualLeases
    ) -> None:
        left_by_a_killed_process(tmp_path, leases)
        leases.now = LONG + 1
        for folder, host in ((tmp_path, THERE), (tmp_path / "another", HERE)):
            assert ProcessWithLease(folder / "owners", leases, LONG, host).confirm_dead() == []


class TestItsOwnLease:
    async def test_an_effect_waits_for_the_lease(
        self, owner: ProcessWithLease, leases: ManualLeases, tmp_path: Path
    ) -> None:
        leases.away = True
        with pytest.raises(OperatorError, match="cannot be reached"):
            owner.hold("r").admit("")
        short = ProcessWithLease(tmp_path / "short" / "owners", leases, 0, HERE, patience_s=0)
        with pytest.raises(OperatorError, match="cannot be reached"):
            await short.stay()

    async def test_who_has_a_lease_is_ready_at_once(
        self, owner: ProcessWithLease, leases: ManualLeases
    ) -> None:
        """Also while the storage is away: nobody asks it. Without a lease, somebody has to."""
        threads = CountingThreads(1)
        asyncio.get_running_loop().set_default_executor(threads)
        await owner.ready()
        leases.away, used = True, threads.used
        await owner.ready()
        assert (used, threads.used) == (1, 1)
        owner.forget()
        with pytest.raises(OperatorError, match="cannot be reached"):
            await owner.ready()

    async def test_a_lease_that_ended_in_between_is_counted(
        self, owner: ProcessWithLease, leases: ManualLeases
    ) -> None:
        hold = owner.hold("r")
        hold.admit("")
        assert await hold.stay() == hold.lapses == 0
        owner.renew()
        assert await hold.stay() == hold.lapses
        leases.now = LONG + 1
        owner.renew()
        assert await hold.stay() == hold.lapses + 1

    async def test_who_was_found_dead_drives_no_run_any_more(
        self, owner: ProcessWithLease, leases: ManualLeases
    ) -> None:
        hold = owner.hold("r")
        hold.admit("")
        leases.end(owner.id, dead=True)
        for _ in range(2):
            with pytest.raises(Fenced):
                owner.renew()
            with pytest.raises(Fenced):
                await hold.stay()
            with pytest.raises(Fenced):
                owner.hold("s").admit("")

    def test_the_last_user_ends_the_lease_unless_a_run_may_name_it(
        self, leases: ManualLeases, tmp_path: Path
    ) -> None:
        for released in (True, False):
            owner = ProcessWithLease(tmp_path / "owners", leases, LONG, HERE)
            owner.open()
            hold = owner.hold("r")
            hold.admit("")
            name = owner.id
            hold.end(released=released)
            owner.close()
            assert (leases.find(name) is None) == released


def left_by_a_killed_process(project: Path, leases: ManualLeases, host: OwnerHost = HERE) -> str:
    """Return an owner whose process was killed while its lease lasts, and which left its file."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        mine = ProcessWithLease(project / "owners", leases, LONG, host)
        os.write(write, mine.id.encode())
        os._exit(0)  # as if it was killed: nothing is released
    os.close(write)
    name = os.read(read, 100).decode()
    os.close(read)
    os.waitpid(pid, 0)
    leases.renew(LeasedOwner(name, host, f"process {pid} on {host.name}"), LONG)
    return name
