"""A storage of another package or of a program: what it returns is checked before it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artificer import Agent, World, load_config, tool
from artificer.errors import ArtificerError, AuthorError
from artificer.ports import (
    Amount,
    Auditable,
    Claim,
    Head,
    Joined,
    Lease,
    Prunable,
    Record,
    RunHead,
    Spent,
    Storage,
)
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.storage.checked import checked
from artificer.storage.memory.journal import MemoryJournal
from artificer.storage.memory.storage import MemoryStorage
from artificer.testing.records import records_after
from artificer.testing.storage_suite import StorageSuite

pytestmark = pytest.mark.req("storage-checked")


class Foreign:
    """A part of somebody else's storage: one of ours, with some methods replaced."""

    def __init__(self, part: object, **methods: object) -> None:
        names = [name for name in dir(part) if not name.startswith("_")]
        self.__dict__.update({name: getattr(part, name) for name in names}, **methods)


class ForeignStorage:
    """A storage with foreign parts. ``methods`` replace ``part.method``."""

    def __init__(self, **methods: object) -> None:
        self.ours = ours = MemoryStorage()
        self.snapshots, self.aclose = ours.snapshots, ours.aclose
        for part in ("journal", "blobs", "signals", "budget", "versions"):
            changed = {
                name.partition("__")[2]: method
                for name, method in methods.items()
                if name.partition("__")[0] == part
            }
            setattr(self, part, Foreign(getattr(ours, part), **changed))


class LossyJournal(MemoryJournal):
    """Reports records as appended from a seq on, and has none of them."""

    def __init__(self, after: int) -> None:
        super().__init__(lambda: 0)
        self.after = after

    async def append(self, run: str, epoch: int, head: Head, records: Any, *more: Any) -> Head:  # type: ignore[override]
        if head.seq < self.after:
            return await super().append(run, epoch, head, records, *more)
        return Head(seq=records[-1].seq, hash=records[-1].hash)


def fault(what: str) -> ArtificerError:
    return AuthorError(f"It {what}")


def checked_storage(**methods: object) -> Storage:
    storage: Any = ForeignStorage(**methods)
    return checked(storage, fault)


class TestARightOneIsUnchanged(StorageSuite):
    @pytest.fixture
    def storage(self) -> Storage:
        return checked_storage()


def test_what_it_can_do_besides_is_still_found() -> None:
    storage = checked_storage()
    journal: object = storage.journal
    blobs: object = storage.blobs
    assert isinstance(journal, Auditable) and isinstance(journal, Prunable)
    assert isinstance(blobs, Joined)


def test_a_storage_of_ours_is_not_checked() -> None:
    ours = MemoryStorage()
    assert checked(ours, fault) is ours


async def test_a_part_that_passes_on_what_it_does_not_define_does_so_still() -> None:
    class Passing:
        def __init__(self, part: object) -> None:
            self.part = part

        def __getattr__(self, name: str) -> object:
            return getattr(self.part, name)

    storage: Any = ForeignStorage()
    storage.journal = Passing(storage.ours.journal)
    found: Any = checked(storage, fault).journal
    assert await found.runs() == [] == await found.audit()


async def test_an_appended_record_with_another_body_is_noticed() -> None:
    records = records_after(Head(), "a", 1)
    last = records[0]
    storage = checked_storage(
        journal__append=returns(Head(seq=1, hash=last.hash)),
        journal__read=returns([Record("a", 1, last.hash, b"{}")]),
    )
    with pytest.raises(AuthorError, match="and does not return it"):
        await storage.journal.append("a", 1, Head(), records)


def returns(value: object) -> Callable[..., Any]:
    async def method(*_: object, **__: object) -> object:
        return value

    return method


def raises(error: BaseException) -> Callable[..., Any]:
    async def method(*_: object, **__: object) -> object:
        raise error

    return method


def returns_now(value: object) -> Callable[..., Any]:
    return lambda *_, **__: value


OTHER = "sha256:" + "1" * 64

WRONG: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "journal.acquire": (returns(None), lambda s: s.journal.acquire("a")),
    "journal.acquire of an epoch 0": (
        returns(Lease(epoch=0, head=Head())),
        lambda s: s.journal.acquire("a"),
    ),
    "journal.acquire at another head": (
        returns(Lease(epoch=1, head=Head())),
        lambda s: s.journal.acquire("a", Claim(head=Head(seq=1, hash=OTHER))),
    ),
    "journal.append": (returns(None), lambda s: s.journal.append("a", 1, Head(), [])),
    "journal.append to another head": (
        returns(Head(seq=4, hash=OTHER)),
        lambda s: s.journal.append("a", 1, Head(), records_after(Head(), "a", 1)),
    ),
    "journal.read": (returns(None), lambda s: s.journal.read("a")),
    "journal.read of dicts": (returns([{}]), lambda s: s.journal.read("a")),
    "journal.read of another run": (
        returns(records_after(Head(), "b", 1)),
        lambda s: s.journal.read("a"),
    ),
    "journal.read of a text": (
        returns([Record("a", 1, OTHER, "{}")]),  # type: ignore[arg-type]
        lambda s: s.journal.read("a"),
    ),
    "journal.read of a record without a hash": (
        returns([Record("a", 1, None, b"{}")]),  # type: ignore[arg-type]
        lambda s: s.journal.read("a"),
    ),
    "journal.read of what was read": (
        returns(records_after(Head(), "a", 1, 2)),
        lambda s: s.journal.read("a", 1),
    ),
    "journal.read of more than a page": (
        returns(records_after(Head(), "a", 1, 2)),
        lambda s: s.journal.read("a", limit=1),
    ),
    "journal.runs of the page before": (
        returns([RunHead("b", 1, Head()), RunHead("a", 1, Head())]),
        lambda s: s.journal.runs("a", 2),
    ),
    "journal.runs of more than a page": (
        returns([RunHead("b", 1, Head()), RunHead("a", 1, Head())]),
        lambda s: s.journal.runs(limit=1),
    ),
    "journal.runs": (returns(["a"]), lambda s: s.journal.runs()),
    "journal.runs twice": (
        returns([RunHead("a", 1, Head())] * 2),
        lambda s: s.journal.runs(),
    ),
    "blobs.get": (returns_now(b"other"), lambda s: s.blobs.get(OTHER)),
    "blobs.put": (returns_now(None), lambda s: s.blobs.put(b"data")),
    "blobs.has": (returns_now(None), lambda s: s.blobs.has(OTHER)),
    "blobs.digests": (returns_now(None), lambda s: s.blobs.digests()),
    "signals.post": (returns("1"), lambda s: s.signals.post("a", b"")),
    "signals.read": (returns([(1, "text")]), lambda s: s.signals.read("a")),
    "signals.read again": (returns([(1, b"")]), lambda s: s.signals.read("a", 1)),
    "signals.since": (returns(None), lambda s: s.signals.since(None)),
    "signals.since a text": (returns(("1", frozenset())), lambda s: s.signals.since(None)),
    "signals.since of numbers": (returns((1, {2})), lambda s: s.signals.since(None)),
    "budget.spent below nothing": (
        returns(Spent(settled=Amount(tokens=-1), reserved=Amount())),
        lambda s: s.budget.spent("day", 0),
    ),
    "budget.spent": (returns(None), lambda s: s.budget.spent("day", 0)),
    "versions.head of a text": (returns_now(("1", OTHER)), lambda s: s.versions.head("w")),
    "versions.head": (returns_now(OTHER), lambda s: s.versions.head("w")),
    "versions.add": (returns_now(None), lambda s: s.versions.add("w", 1, OTHER)),
    "versions.names": (returns_now(None), lambda s: s.versions.names()),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_value_is_an_error_that_says_where(case: str) -> None:
    method, used = WRONG[case]
    name = case.partition(" ")[0]
    storage = checked_storage(**{name.replace(".", "__"): method})
    with pytest.raises(AuthorError, match=rf"It returned .* from {name}, not "):
        found = used(storage)
        if asyncio.iscoroutine(found):
            await found


@pytest.mark.parametrize("error", [SystemExit(0), asyncio.CancelledError()])
async def test_a_method_neither_ends_the_program_nor_cancels_its_caller(
    error: BaseException,
) -> None:
    storage = checked_storage(journal__read=raises(error))
    with pytest.raises(AuthorError, match=f"raised {type(error).__name__} in "):
        await storage.journal.read("a")


async def test_a_method_that_is_not_async_is_named() -> None:
    storage = checked_storage(journal__read=returns_now([]))
    with pytest.raises(AuthorError, match=r"has a method journal\.read that is not async"):
        await storage.journal.read("a")


async def test_cancelling_the_caller_is_no_fault() -> None:
    async def waits(*_: object) -> None:
        await asyncio.Event().wait()

    storage = checked_storage(journal__read=waits)
    task = asyncio.ensure_future(storage.journal.read("a"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


def test_a_blob_that_was_put_and_is_not_there_is_noticed() -> None:
    storage = checked_storage(blobs__has=returns_now(False))
    with pytest.raises(AuthorError, match="and does not have it"):
        storage.blobs.put(b"data")


@pytest.mark.parametrize("after", [0, 4])
async def test_a_lost_commit_ends_the_run_before_its_effect(after: int, tmp_path: Path) -> None:
    rung = []

    @tool(effect="once")
    def ring() -> str:
        """Ring the bell."""
        rung.append("bell")
        return "It rang."

    storage: Any = ForeignStorage()
    storage.journal = LossyJournal(after)
    model = ScriptedProvider([reply(call("ring")), say("Done.")])
    async with World.open(load_config(home=tmp_path, project="p"), storage=storage) as world:
        with pytest.raises(AuthorError, match="and does not return it") as found:
            await world.run("Ring.", Agent(model, tools=[ring], kind="chat"))
    assert "ForeignStorage" in str(found.value)
    assert rung == ["bell"] * (after > 0)
