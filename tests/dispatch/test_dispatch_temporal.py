"""The dispatcher on a Temporal server: the suite of all dispatchers, and its own matters."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from children_suite import ChildrenSuite, DispatchedPlace
from temporal_server import TemporalServer

from artificer.dispatch.kinds import world_name
from artificer.dispatch.lanes import Lanes
from artificer.dispatch.temporal.dispatcher import TemporalDispatcher
from artificer.dispatch.temporal.kind import TEMPORAL, TemporalPlace, place_of
from artificer.errors import ConfigError, OperatorError
from artificer.ports import DispatchedRun, DispatcherPlace, SharedLimit
from artificer.testing.dispatcher_suite import DispatcherSuite, ScriptedSegments, serving
from artificer.world import World

pytestmark = [pytest.mark.xdist_group("temporal")]


async def opened(server: TemporalServer, **lanes: int) -> TemporalDispatcher:
    limits = {lane: (SharedLimit(lane, count),) for lane, count in lanes.items()}
    url = f"temporal://{server.address}/default"
    return await TEMPORAL.open(DispatcherPlace(url, f"test-{secrets.token_hex(6)}", Lanes(limits)))


@pytest.mark.req("dispatch-port", "dispatch-temporal")
class TestTemporalDispatcher(DispatcherSuite):
    @pytest_asyncio.fixture
    async def dispatcher(self, server: TemporalServer) -> AsyncIterator[TemporalDispatcher]:
        yield await opened(server)


@pytest.mark.req("dispatched-children", "dispatch-temporal")
class TestChildrenOfTemporal(ChildrenSuite):
    @pytest_asyncio.fixture
    async def place(self, server: TemporalServer) -> AsyncIterator[DispatchedPlace]:
        async with World.in_memory() as world:
            yield DispatchedPlace(world, await opened(server))


@pytest.mark.req("dispatch-temporal")
async def test_the_server_knows_nothing_but_ids_and_causes(server: TemporalServer) -> None:
    dispatcher = await opened(server)
    script = ScriptedSegments()
    async with serving(dispatcher, script):
        await dispatcher.submit(DispatchedRun("a", 1, "acme", "slow"))
        await script.until("a")
        handle = dispatcher._client.get_workflow_handle(f"{dispatcher._queue}:a")
        await handle.result()
    history = (await handle.fetch_history()).to_json()
    assert len(history) < 20_000
    assert "acme" in history  # the key of its turns


@pytest.mark.req("dispatch-temporal")
async def test_a_worker_ends_when_its_server_answers_nothing(
    server: TemporalServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("artificer.dispatch.temporal.dispatcher.STOP_S", 1.0)
    dispatcher = await opened(server)
    script = ScriptedSegments()
    serves = asyncio.create_task(dispatcher.serve(script.execute, slots=1))
    await dispatcher.submit(DispatchedRun("a"))
    await script.until("a")
    with server.frozen():
        serves.cancel()
        done, _ = await asyncio.wait([serves], timeout=15)  # the SDK itself waits for 30 s
    assert done == {serves} and serves.cancelled()
    assert "has not ended in 1 s" in caplog.text


@pytest.mark.req("dispatch-temporal")
async def test_a_namespace_that_is_not_there_is_named(server: TemporalServer) -> None:
    place = DispatcherPlace(f"temporal://{server.address}/nowhere", "w", Lanes({}))
    dispatcher = await TEMPORAL.open(place)
    for asked in (
        dispatcher.submit(DispatchedRun("a")),
        dispatcher.serve(ScriptedSegments(), slots=1),
    ):
        with pytest.raises(OperatorError, match=r"have the namespace.*nowhere") as caught:
            await asked
        assert "Status" not in caught.value.message and "namespace create" in caught.value.hint


@pytest.mark.req("dispatch-temporal")
def test_an_address_says_where_the_server_is_and_which_queue_is_the_worlds() -> None:
    assert place_of("temporal") == TemporalPlace()
    url = "temporal://host:7233/space?queue=q&tls=true&beat=5"
    assert place_of(url) == TemporalPlace("host:7233", "space", "q", True, 5.0)
    for wrong in ("temporal://me:secret@host", "temporal://host?color=1", "temporal://h?beat=no"):
        with pytest.raises(ConfigError) as caught:
            place_of(wrong)
        assert "secret" not in str(caught.value)


@pytest.mark.req("dispatch-temporal")
def test_a_world_has_the_same_name_from_every_machine() -> None:
    one = world_name("postgresql://a:b@db1/world?schema=s", "here")
    assert one == world_name("postgresql://other@db2/world?schema=s", "there")
    assert one != world_name("postgresql://a@db1/world?schema=t", "here")
    assert world_name("postgresql://db/world?schema=artificer", "here") == world_name(
        "postgresql://db/world", "there"
    )
    assert world_name("sqlite", "here") == "here"
