"""Owners of one world on several hosts: real processes, each with a folder of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cut_line import cutting
from postgres_server import PostgresServer
from processes import Place, place_in

from artificer.errors import Fenced, OperatorError
from artificer.ownership.leased import ProcessWithLease
from artificer.ports import LeasedOwner, OwnerHost
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.owner_leases import PostgresOwnerLeases
from artificer.storage.postgres.tables import make

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("owner-leases")]

numbers = count()
US = LeasedOwner("us", OwnerHost("m1", "b1", "here"), "process 1 on here")


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"leases_{next(numbers)}")


@pytest.fixture
def database(url: str) -> Database:
    return Database.parse(url, "power", read_only=False)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path) as place:
        yield place


def let_leases_end(database: Database) -> None:
    """End the leases of processes that cannot renew them, before their time."""
    with database.connect() as db:
        db.execute("UPDATE owners SET until = clock_timestamp() - interval '1 second'")


def until_a_lease_has_ended(database: Database) -> None:
    with database.connect() as db:
        ended = "SELECT 1 FROM owners WHERE until < clock_timestamp()"
        Place.until(lambda: db.execute(ended.encode()).fetchone())


def statuses(outcome: dict[str, Any]) -> list[str]:
    return [status for status, _ in outcome["results"]]


def test_leases_end_by_the_clock_of_the_database(database: Database) -> None:
    with database.connect() as db:
        make(db, database.schema)
    leases = PostgresOwnerLeases(database)
    assert leases.find("us") is None
    assert [leases.renew(US, 60) for _ in range(2)] == [False, True]
    found = leases.find("us")
    assert found is not None and found.owner == US and 0 < found.seconds_left <= 60
    assert found.until.endswith(" UTC") and not found.dead
    assert [lease.owner for lease in leases.on("m1")] == [US]
    let_leases_end(database)
    assert [lease.seconds_left < 0 for lease in leases.on("m1")] == [True]
    assert leases.on("m2") == []
    assert [leases.renew(US, 60) for _ in range(2)] == [False, True], "it had ended"
    leases.end("us", dead=True)
    assert leases.on("m1") == []
    with pytest.raises(Fenced, match="Another process on here has declared this one dead"):
        leases.renew(US, 60)
    leases.end("us", dead=False)
    assert leases.find("us") is None
    leases.close()


@pytest.mark.parametrize("probe", [False, True], ids=["no probe", "probe"])
def test_what_a_killed_owner_had_begun_is_in_doubt_until_its_host_says_otherwise(
    place: Place, url: str, database: Database, probe: bool
) -> None:
    facts = {"kind": "async", "probe": probe, "storage": url, "lease_seconds": 3600}
    owner = place.under_way(home="a", **facts)
    owner.send(signal.SIGKILL)
    refused = place.start("resume", home="b", **facts).outcome()
    assert refused["error"] == "owned" and f"process {owner.pid} on " in refused["message"]
    assert "its lease ends at " in refused["message"]
    let_leases_end(database)
    taken = place.start("resume", home="b", **facts).outcome()
    assert (taken["status"], statuses(taken)) == ("completed", ["ambiguous"])
    assert f"process {owner.pid} on " in taken["results"][0][1]
    assert len(place.ledger("begin")) == 1, "nothing was repeated"
    assert taken["identical"]


def test_a_probe_counts_once_the_host_of_a_dead_owner_has_found_it_dead(
    place: Place, url: str, database: Database
) -> None:
    facts = {"kind": "async", "probe": True, "storage": url}
    owner = place.under_way(home="a", **facts)
    owner.send(signal.SIGKILL)
    let_leases_end(database)
    assert place.start("confirm", home="b", storage=url).outcome() == {"dead": []}
    assert len(place.start("confirm", home="a", storage=url).outcome()["dead"]) == 1
    place.allow()
    taken = place.start("resume", home="b", **facts).outcome()
    assert (taken["status"], statuses(taken)) == ("completed", ["ok"])
    assert len(place.ledger("begin")) == 2 and len(place.ledger("act")) == 1


def test_a_frozen_owner_that_goes_on_after_its_lease_begins_nothing(
    place: Place, url: str, database: Database
) -> None:
    """Its second call waits for the first, and it has renewed its lease when that one ends."""
    facts = {"kind": "async", "storage": url, "calls": 2, "lease_seconds": 1}
    owner = place.under_way(home="a", **facts)
    owner.send(signal.SIGSTOP)
    until_a_lease_has_ended(database)
    taken = place.start("resume", home="b", **facts).outcome()
    assert (taken["status"], statuses(taken)) == ("completed", ["ambiguous"] * 2)
    place.allow()
    owner.send(signal.SIGCONT)
    assert owner.end()["error"] == "fenced"
    assert len(place.ledger("begin")) == len(place.ledger("act")) == 1
    assert taken["identical"]


async def test_a_process_whose_connection_is_cut_starts_no_effect(
    postgres_server: PostgresServer, url: str, database: Database, tmp_path: Path
) -> None:
    with database.connect() as db:
        make(db, database.schema)
    with cutting(postgres_server) as line:
        through = Database.parse(line.url(url), "power", read_only=False)
        leases = PostgresOwnerLeases(through)
        owner = ProcessWithLease(tmp_path / "owners", leases, seconds=1, patience_s=0)
        owner.open()
        hold = owner.hold("r")
        hold.admit("")
        line.cut()
        until_a_lease_has_ended(database)
        with pytest.raises(OperatorError, match="The lease of this process: The database cannot"):
            await hold.stay()
        line.mend()
        assert await hold.stay() > hold.lapses, "somebody may have taken the run"
        hold.end(released=True)
        owner.close()
