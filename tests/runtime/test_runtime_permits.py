"""The permits of one process: waiting for them in turn, keeping them, and what a request says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest

from artificer import Agent, Config, World
from artificer.config import SharedLimits, WorkerConfig
from artificer.core.events import ModelFailed
from artificer.core.record import EventLine
from artificer.errors import InvalidValueError, OperatorError
from artificer.events import ModelDelayed
from artificer.ports import LimitReached, Permit, SharedLimit
from artificer.runtime.delays import ATTEMPTS, FIRST_S, delay_of
from artificer.runtime.limits.permits import PermitKeeper
from artificer.runtime.limits.request_permits import RequestPermits
from artificer.storage.memory.permits import MemoryPermits
from artificer.testing import ScriptedProvider
from artificer.values.base import JsonObject
from artificer.values.model import Delta, ModelFailure, RetryDelta
from artificer.wiring.limits import lane_limits, request_limits

pytestmark = pytest.mark.req("shared-request-limits")

WITHIN_S = 120
ONE = (SharedLimit("requests.scripted.at_once", 1),)


def ignore(reached: LimitReached) -> None:
    """Nobody watches."""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


async def taken(keeper: PermitKeeper) -> Permit:
    permit = await keeper.take(ONE)
    assert isinstance(permit, Permit)
    return permit


class Hourglass:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class AwayPermits(MemoryPermits):
    """A storage that may be away."""

    away = False

    def _reach(self) -> None:
        if self.away:
            raise OperatorError("The database cannot be reached.")

    async def take(
        self, permit: str, limits: Sequence[SharedLimit], lease_s: float
    ) -> LimitReached | None:
        self._reach()
        return await super().take(permit, limits, lease_s)

    async def renew(self, permits: Sequence[Permit], lease_s: float) -> None:
        self._reach()
        await super().renew(permits, lease_s)

    async def give_back(self, permits: Sequence[Permit]) -> None:
        self._reach()
        await super().give_back(permits)

    async def held(self) -> Mapping[str, int]:
        self._reach()
        return await super().held()


async def test_those_who_wait_take_turns() -> None:
    keeper = PermitKeeper(MemoryPermits())
    permit, order = await taken(keeper), list[int]()

    async def wait(number: int) -> None:
        found = await keeper.wait(ONE, WITHIN_S, ignore)
        assert isinstance(found, Permit)
        order.append(number)
        keeper.give_back(found)

    waiting = [asyncio.ensure_future(wait(number)) for number in range(5)]
    await until(lambda: keeper.waiting[ONE[0].name] == 5)
    keeper.give_back(permit)
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2, 3, 4]
    assert not +keeper.waiting
    await keeper.aclose()


async def test_waiting_ends_when_patience_does_and_when_it_is_cancelled() -> None:
    """Also for a rate that will leave no room in time: at once."""
    permits = MemoryPermits()
    keeper = PermitKeeper(permits)
    permit, said = await taken(keeper), list[LimitReached]()
    assert await keeper.wait(ONE, 0.02, said.append) == LimitReached(ONE[0].name)
    assert said == [LimitReached(ONE[0].name)]
    rate = (SharedLimit("rate", 1, 3600.0),)
    await keeper.take(rate)
    reached = await keeper.wait(rate, WITHIN_S, ignore)
    assert isinstance(reached, LimitReached) and reached.seconds > WITHIN_S
    waiting = [asyncio.ensure_future(keeper.wait(ONE, WITHIN_S, ignore)) for _ in range(2)]
    await until(lambda: keeper.waiting[ONE[0].name] == 2)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await keeper.give_back(permit)
    assert await permits.held() == {"rate": 1}
    assert isinstance(await keeper.wait(ONE, WITHIN_S, ignore), Permit)
    await keeper.aclose()
    assert await permits.held() == {"rate": 1}


async def test_a_permit_is_renewed_as_long_as_it_is_held() -> None:
    """A storage that was away, or has forgotten it, counts it again."""
    clock = Hourglass()
    permits = AwayPermits(clock)
    keeper = PermitKeeper(permits, lease_s=0.03)
    permit = await taken(keeper)
    permits.away = True
    assert isinstance(await keeper.take(ONE), LimitReached)
    clock.seconds = 100.0
    permits.away = False
    await until(lambda: permits._taken[ONE[0].name][permit.id].until > 100)
    assert isinstance(await keeper.take(ONE), LimitReached)
    await keeper.give_back(permit)
    assert await permits.held() == {}
    await keeper.aclose()


async def test_a_run_says_that_it_waits_and_goes_on_when_there_is_room() -> None:
    """Who follows it learns of which limit; nothing about it is recorded."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(body: JsonObject) -> str:
        begun.set()
        await go_on.wait()
        return "Done."

    limits = {"scripted/scripted": SharedLimits(at_once=1, per_minute=100)}
    agent = Agent(ScriptedProvider(answer), kind="chat")
    async with World.open(Config(storage="memory", requests=limits)) as world:
        first = asyncio.ensure_future(world.run("One", agent, run_id="first"))
        await begun.wait()
        async with world.stream("Two", agent, run_id="second") as stream:
            async for event in stream:
                if isinstance(event, ModelDelayed):
                    assert event.limit == "requests.scripted/scripted.at_once"
                    go_on.set()
        assert (await first).status == (await world.get("second")).status == "completed"


async def test_a_request_that_waits_too_long_is_not_sent_and_its_run_can_be_resumed() -> None:
    said = list[Delta]()
    keeper = PermitKeeper(MemoryPermits())
    permit = await taken(keeper)
    requests = RequestPermits(keeper, {"scripted": ONE}, patience_s=0.02)
    async with World.open(Config(storage="memory")) as world:
        run = await world.run("Hi", Agent(ScriptedProvider(["Hello."]), kind="chat"))
        spec = run.state.run_spec
    async with requests.permit(spec, 3600, said.append) as refused:
        assert isinstance(refused, ModelFailure)
        assert (refused.code, refused.attempts) == ("rate_limited", 0)
        assert "requests.scripted.at_once" in refused.message
    assert [delta.limit for delta in said if isinstance(delta, RetryDelta)] == [ONE[0].name]
    await keeper.give_back(permit)
    async with requests.permit(spec, 3600, said.append) as waited:
        assert isinstance(waited, float)
        assert keeper.held == {ONE[0].name: 1}
    await keeper.aclose()


def test_waiting_for_a_limit_uses_up_no_attempt() -> None:
    """Workers try again, however often; a request that was sent counts as ever."""

    def lines(attempts: int, count: int) -> list[EventLine]:
        failed = ModelFailed(
            at=1, intent=1, code="rate_limited", message="", attempts=attempts, duration_ms=0
        )
        digest = "sha256:" + "0" * 64
        return [EventLine(run="r", seq=1, prev="", event=failed, state=digest)] * count

    assert delay_of(lines(0, ATTEMPTS * 2)) == FIRST_S
    assert delay_of([*lines(1, 2), *lines(0, 3)]) == FIRST_S
    assert delay_of([*lines(0, 3), *lines(1, 2)]) == FIRST_S * 2
    assert delay_of(lines(1, ATTEMPTS)) is None


def test_settings_name_what_they_limit() -> None:
    config = Config(
        requests={"anthropic": SharedLimits(at_once=4)},
        worker=WorkerConfig(lanes={"a": 2, "b": SharedLimits(per_minute=30)}),
    )
    assert request_limits(config) == {"anthropic": (SharedLimit("requests.anthropic.at_once", 4),)}
    assert lane_limits(config.worker) == {
        "a": (SharedLimit("lanes.a.at_once", 2),),
        "b": (SharedLimit("lanes.b.per_minute", 30, 60.0),),
    }
    with pytest.raises(InvalidValueError, match="at_once"):
        SharedLimits()
    with pytest.raises(InvalidValueError):
        Config(requests={"a b": SharedLimits(at_once=1)})
