"""Processes of a call die with the runtime, or keep the call in doubt as long as they live."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paying
import pytest
from processes import Place, alive, place_in

from artificer import Config, ScriptedProvider, World, tool
from artificer.agent import Agent
from artificer.backends.process import keeper, keepers
from artificer.backends.process.kept import can_keep
from artificer.backends.process.run import Finished, run_process
from artificer.ownership.calls import ProjectLocks
from artificer.ownership.descendants import mark_descendants
from artificer.ownership.fifo import drop, holders, holding, is_held
from artificer.ownership.process import owner_of
from artificer.providers.scripted import call, reply, say

pytestmark = [
    pytest.mark.req("call-orphans"),
    pytest.mark.skipif(not can_keep(), reason="needs Linux 5.4 and /proc"),
]
KINDS = pytest.mark.parametrize("kind", ["command", "function"])
CLASSES = pytest.mark.parametrize(
    ("effect", "probe"),
    [("once", True), ("keyed", True), ("keyed", False), ("idempotent", False)],
)
PROGRAM = Path(__file__).with_name("program.py")
SHORT_S = 0.3
"""How long to wait for processes that do not end."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path) as place:
        yield place


def keeper_of(pid: int) -> int:
    """The keeper of a process: its first ancestor that disregards SIGHUP."""
    while True:
        pid = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        caught = int(status.split("SigCgt:")[1].split()[0], 16)
        if caught >> (signal.SIGHUP - 1) & 1:
            return pid


def statuses(outcome: dict[str, Any]) -> list[str]:
    return [status for status, _ in outcome["results"]]


@KINDS
@CLASSES
def test_what_a_killed_runtime_had_started_ends_before_it_is_done_again(
    place: Place, kind: str, effect: str, probe: bool
) -> None:
    facts = {"kind": kind, "effect": effect, "probe": probe}
    place.under_way(**facts).send(signal.SIGKILL)
    resumed = place.start("resume", **facts)
    resumed.go()
    place.until(lambda: len(place.ledger("begin")) == 2)
    first, second = place.ledger("begin")
    assert not alive(first) and alive(second)
    place.allow()
    outcome = resumed.end()
    assert (outcome["status"], statuses(outcome)) == ("completed", ["ok"])
    assert place.ledger("act") == [second]


@pytest.mark.parametrize(
    ("kind", "effect", "probe", "way"),
    [
        ("command", "once", True, "daemon"),
        ("function", "once", True, "act"),
        ("function", "keyed", True, "daemon"),
        ("command", "keyed", False, "act"),
        ("command", "idempotent", False, "daemon"),
        ("function", "idempotent", False, "act"),
    ],
)
def test_a_late_orphan_keeps_its_call_in_doubt_and_is_named(
    place: Place, kind: str, effect: str, probe: bool, way: str
) -> None:
    """Its keeper stands still, so nothing ends it: not its session, and no descriptor either."""
    facts = {"kind": kind, "effect": effect, "probe": probe, "way": way}
    owner = place.under_way(**facts)
    (orphan,) = place.ledger("begin")
    keeping = keeper_of(orphan)
    os.kill(keeping, signal.SIGSTOP)
    owner.send(signal.SIGKILL)
    try:
        outcome = place.start("resume", **facts, patience_s=SHORT_S).outcome()
        assert (outcome["status"], statuses(outcome)) == ("completed", ["ambiguous"])
        assert str(keeping) in outcome["results"][0][1]
        assert place.ledger("begin") == [orphan], "nothing was repeated"
        place.allow()
        place.until(lambda: place.ledger("act"))
        assert place.ledger("act") == [orphan]
    finally:
        os.kill(keeping, signal.SIGCONT)
    place.until(lambda: not alive(orphan))


@pytest.mark.parametrize("kind", ["thread", "forked"])
@CLASSES
def test_a_process_that_a_thread_had_started_keeps_its_call_in_doubt(
    place: Place, kind: str, effect: str, probe: bool
) -> None:
    """No keeper ends it, but its environment names its dead owner, or it inherited a lock."""
    facts = {"kind": kind, "effect": effect, "probe": probe}
    owner = place.under_way(**facts)
    (orphan,) = place.ledger("begin")
    owner.send(signal.SIGKILL)
    outcome = place.start("resume", **facts, patience_s=SHORT_S).outcome()
    assert (outcome["status"], statuses(outcome)) == ("completed", ["ambiguous"])
    assert str(orphan) in outcome["results"][0][1]
    assert place.ledger("begin") == [orphan], "nothing was repeated"
    place.allow()
    place.until(lambda: place.ledger("act"))
    assert place.ledger("act") == [orphan]


async def test_what_was_forked_keeps_no_call_in_doubt_once_its_owner_has_released_its_runs(
    tmp_path: Path,
) -> None:
    """A pool of a program that has closed its world goes on, and acts in no call any more."""
    owner = owner_of(tmp_path)
    mark_descendants(ProjectLocks(owner).of("key"))
    forked = multiprocessing.get_context("fork").Process(target=signal.pause)
    forked.start()
    owner.close()
    other = owner_of(tmp_path)
    try:
        assert await ProjectLocks(other, patience_s=0).held(["key"]) == {}
    finally:
        forked.kill()
        forked.join()
        other.close()


def test_a_process_that_a_thread_had_started_may_end_in_time(place: Place) -> None:
    facts = {"kind": "thread", "effect": "once", "probe": True}
    owner = place.under_way(**facts)
    (orphan,) = place.ledger("begin")
    owner.send(signal.SIGKILL)
    resumed = place.start("resume", **facts)
    resumed.go()
    place.allow()
    outcome = resumed.end()
    assert (outcome["status"], statuses(outcome)) == ("completed", ["ok"])
    assert place.ledger("begin") == place.ledger("act") == [orphan]


@KINDS
def test_a_daemon_without_environment_session_and_descriptors_dies_with_the_runtime(
    place: Place, kind: str
) -> None:
    owner = place.under_way(kind=kind, way="daemon")
    (daemon,) = place.ledger("begin")
    assert Path(f"/proc/{daemon}/environ").read_bytes() == b""
    owner.send(signal.SIGKILL)
    place.until(lambda: not alive(daemon))


async def test_a_daemon_does_not_outlive_its_call(tmp_path: Path) -> None:
    program = (sys.executable, str(PROGRAM), "daemon")
    running = asyncio.ensure_future(run_process(program, env={}, cwd=tmp_path, seconds=600))
    ledger = tmp_path / "ledger"
    await asyncio.to_thread(Place.until, ledger.exists)
    await asyncio.to_thread(Place.until, lambda: ledger.read_text().endswith("\n"))
    daemon = int(ledger.read_text().split()[1])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert not alive(daemon)


async def test_a_call_holds_its_own_lock_and_nothing_of_another(tmp_path: Path) -> None:
    """Calls at once, of functions and programs: each sees its own lock, no other, no owner's."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "list.clad.toml").write_text(
        '[tool]\nname = "spawned"\nversion = "1"\ndescription = "List."\neffect = "once"\n'
        f'[args.n]\ntype = "integer"\nrequired = true\n'
        f'[command]\nexec = ["{sys.executable}", "{PROGRAM}", "files", "{{n}}"]\n'
    )

    own = tool(effect="once", isolation="process", name="own")(paying.files)
    calls = [call(name, n=n) for name in ("own", "spawned") for n in range(4)]
    model = ScriptedProvider([reply(*calls), say("Done.")])
    async with World.open(Config(home=tmp_path / "home", project="p")) as world:
        run = await world.run("Go.", Agent(kind="chat", model=model, tools=[tools, own]))
        results = [b.content for m in run.state.history for b in m.blocks if hasattr(b, "content")]
        assert len(results) == 8
        for content in results:
            assert content.count("/home/p/calls/") == 1, content
            assert "/owners/" not in content
        assert list((tmp_path / "home/p/calls").glob("*/*")) == [], "no lock is left behind"


async def test_a_keeper_serves_call_after_call_and_holds_nothing_of_the_last(
    tmp_path: Path,
) -> None:
    """Its lock is free, also after a program that left another or could not be started."""
    locks = [tmp_path / "calls" / name for name in ("first", "second", "third")]
    shown = "echo $PPID; ls -l /proc/$PPID/fd"
    keepers = []
    for lock in locks:
        done = await _under(lock, tmp_path, "sh", "-c", shown)
        held = [each.name for each in locks if f"{each}\n" in done.stdout.text]
        keepers.append(int(done.stdout.text.split()[0]))
        assert held == [lock.name]
        with pytest.raises(FileNotFoundError):
            await _under(lock, tmp_path, "no-such-program-anywhere")
        await asyncio.to_thread(Place.until, lambda lock=lock: not is_held(lock))
    assert len(set(keepers)) == 1
    left = await _under(locks[0], tmp_path, "sh", "-c", "echo $PPID; sleep 600 &")
    assert left.stdout.text == f"{keepers[0]}\n" and left.left_behind == 1
    await asyncio.to_thread(Place.until, lambda: not is_held(locks[0]))


async def test_a_keeper_that_was_killed_while_it_waited_is_not_asked(tmp_path: Path) -> None:
    keepers.KEEPERS.close()  # so that as many wait afterwards
    first = await _under(None, tmp_path, "sh", "-c", "echo $PPID")
    leashes = len(keepers._leashes)
    os.kill(int(first.stdout.text), signal.SIGKILL)
    await asyncio.to_thread(Place.until, lambda: not alive(int(first.stdout.text)))
    second = await _under(None, tmp_path, "sh", "-c", "echo $PPID")
    assert second.exit_code == 0 and second.stdout.text != first.stdout.text
    assert len(keepers._leashes) == leashes, "its own is closed"


async def _under(lock: Path | None, folder: Path, *argv: str) -> Finished:
    env = {"PATH": os.environ["PATH"]}
    return await run_process(argv, env=env, cwd=folder, seconds=60, lock=lock)


def test_a_lock_is_held_until_its_last_holder_closes_it(tmp_path: Path) -> None:
    lock = tmp_path / "calls" / "key"
    assert not is_held(lock)
    with holding(lock) as first, holding(lock):
        assert is_held(lock) and holders(lock) == [os.getpid()]
        drop(lock)
        assert lock.exists() and len(first) == 1
    assert not is_held(lock)
    drop(lock)
    assert not lock.exists()


def test_children_are_found_where_the_kernel_does_not_list_them() -> None:
    listed = set(keeper.children_of(os.getpid()))
    assert listed == set(keeper._children_by_parent(os.getpid()))
