"""The digests that a record names are compared with others, whatever stands in their place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from artificer.errors import TamperedError
from artificer.ports import BlobStore, Head, Record
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import load
from artificer.runtime.proving.replay import Replay, replay
from artificer.runtime.proving.verify import verify
from artificer.storage.memory import MemoryJournal
from artificer.testing.rig import Rig
from artificer.values.canon import canonical, digest_of

pytestmark = pytest.mark.req("named-digests")

ODD = ("sha256:" + "../" * 21 + "x", "sha256:" + "A" * 64, "é" * 71)
"""Texts as long as a digest."""

NAMED = (("state",), ("digest",), ("request",), ("outputs", "items"))


async def recorded() -> Rig:
    rig = Rig()

    async def find(call: Any) -> str:
        return "found"

    rig.tools.add("find", find)
    await rig.run([reply(call("find")), say("Found.")])
    return rig


async def rewritten(rig: Rig, change: Callable[[dict[str, Any]], bool]) -> MemoryJournal:
    """Return a journal in which the first record that can be is changed, and every hash fits."""
    records: list[Record] = []
    head, changed = Head(), False
    for record in await rig.journal.read("run"):
        body = json.loads(record.body)
        changed = changed or change(body)
        data = canonical({**body, "prev": head.hash})
        head = Head(seq=record.seq, hash=digest_of(data))
        records.append(Record("run", head.seq, head.hash, data))
    assert changed
    journal = MemoryJournal()
    await journal.append("run", (await journal.acquire("run")).epoch, Head(), records)
    return journal


def put(value: str, *path: str) -> Callable[[dict[str, Any]], bool]:
    """Return the change that puts a value in the place of a digest, where there is one."""

    def change(body: dict[str, Any]) -> bool:
        place: Any = body
        for name in path[:-1]:
            place = place.get(name) or {}
        found = place.get(path[-1])
        if found:
            place[path[-1]] = [value] if isinstance(found, list) else value
        return bool(found)

    return change


async def replayed(journal: MemoryJournal, blobs: BlobStore) -> Replay:
    return await replay(journal, blobs, "run", ScriptedProvider([]))


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("path", [*NAMED, ("outputs", "calls"), ("outputs", "text")], ids=".".join)
async def test_a_replay_finds_whatever_stands_for_a_digest(path: tuple[str, ...], odd: str) -> None:
    rig = await recorded()
    assert (await replayed(await rewritten(rig, bool), rig.blobs)).identical, "of itself, no harm"
    journal = await rewritten(rig, put(odd, *path))
    assert not (await replayed(journal, rig.blobs)).identical
    if path == ("state",):
        with pytest.raises(TamperedError):
            await load(journal, rig.blobs, "run")
    if path[0] == "outputs":
        assert f"cites the blob {odd}" in "".join((await verify(journal, rig.blobs)).problems)


@pytest.mark.parametrize("path", NAMED, ids=".".join)
async def test_a_text_of_another_length_is_no_record(path: tuple[str, ...]) -> None:
    rig = await recorded()
    journal = await rewritten(rig, put("sha256:", *path))
    with pytest.raises(TamperedError, match=f"/{'/'.join(path)}"):
        await load(journal, rig.blobs, "run")
