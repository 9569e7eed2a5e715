"""Facts of a journal that this release decides otherwise, while every hash in it fits."""

from __future__ import annotations

import json

import pytest

from artificer.ports import Head, Record
from artificer.providers.scripted import ScriptedProvider, say
from artificer.runtime.load import load
from artificer.runtime.proving.replay import replay
from artificer.storage.memory import MemoryJournal
from artificer.testing.rig import Rig
from artificer.values.canon import canonical, digest_of


@pytest.mark.req("replay-decisions")
async def test_a_replay_names_a_status_that_does_not_follow() -> None:
    rig = Rig()
    await rig.run([say("Found.")])
    state = (await load(rig.journal, rig.blobs, "run")).state
    *records, last = await rig.journal.read("run")
    body = json.loads(last.body)
    body["event"]["status"] = "partial"
    data = canonical({**body, "state": state.replace(status="partial").digest})
    forged = MemoryJournal()
    epoch = (await forged.acquire("run")).epoch
    changed = Record("run", last.seq, digest_of(data), data)
    await forged.append("run", epoch, Head(), [*records, changed])
    found = await replay(forged, rig.blobs, "run", ScriptedProvider([]))
    assert found.identical
    assert found.drift == ["RunFinished (intent 3); recorded partial, now completed"]
