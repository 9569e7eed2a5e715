"""Limits of a build: the cost of all its runs together, and the number of runs it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engineer import Engineer
from git_project import project
from parts import ONE, PAIR, PROJECT
from site_of_builds import Site, site

from artificer.builds.facts import BuildOptions
from artificer.builds.table import BUILD_TOKENS, RUN_TOKENS
from artificer.config import Config, PriceConfig
from artificer.core.signals import Retry
from artificer.core.spec import Limits
from artificer.providers.scripted import ScriptedProvider, call, reply
from artificer.runs import Run
from artificer.values.model import ModelReply, Usage
from artificer.world import World

SMALL = BuildOptions(size="small", parallel=3)


class Dear(ScriptedProvider):
    """An engineer whose every reply costs so much."""

    usage = Usage(input_tokens=3_000, output_tokens=300)

    async def generate(self, payload: Any, on_delta: Any) -> Any:
        reply = await super().generate(payload, on_delta)
        assert isinstance(reply, ModelReply)
        return reply.replace(usage=self.usage)


async def spent(world: World) -> tuple[int, int]:
    """Tokens and micro-dollars of all runs but the build, by their journals."""
    runs = [(await world.get(run)) for run in await world.archive.runs() if run != "b"]
    tokens = sum(run.usage.input_tokens + run.usage.output_tokens for run in runs)
    return tokens, sum(run.state.cost_micros or 0 for run in runs)


def failures(run: Run) -> int:
    build = run.state.build
    assert build is not None
    steps = [a for s in build.specs for p in s.phases for a in (p.detailing, p.coding)]
    return sum(a.failures for a in (build.planning, *(s.specifying for s in build.specs), *steps))


@pytest.mark.req("build-spending")
@pytest.mark.parametrize("limit", ["tokens", "dollars"])
async def test_its_runs_never_spend_more_than_it_may(tmp_path: Path, limit: str) -> None:
    home = project(tmp_path / "p", PROJECT)
    most = 60_000  # a token costs a micro-dollar here
    limits = Limits(max_tokens=300, **{_LIMITS[limit]: most})
    price = {"scripted/scripted": PriceConfig(input=1, output=1)}
    config = Config(home=tmp_path / "home", project="p", durability="process", prices=price)
    async with World.open(config) as world:
        place = Site(world, home, Dear(Engineer(PAIR)))
        run = await place.build(limits=limits, options=SMALL)
        assert run.status == "stalled", run.text
        assert "The budget is used up" in run.text and "for this build" in run.text
        assert failures(run) == 0 and "failed" not in run.text
        for total in await spent(world):
            assert most * 0.8 < total <= most
        place.model = Dear(Engineer(PAIR))
        run = await place.resume()
        assert run.status == "stalled" and place.model.requests == [], "it is still used up"
        assert failures(run) == 0
        for child in await world.archive.runs():
            assert (await world.archive.replay(child, model=place.model)).identical
        run = await world.cancel("b", "Too dear.")
        assert run.status == "cancelled"


_LIMITS = {"tokens": "total_tokens", "dollars": "cost_micros"}


@pytest.mark.req("build-spending")
async def test_what_runs_at_the_same_time_reserve_stands_in_nobody_s_way(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    limits = Limits(max_tokens=3_000, total_tokens=14_000)  # two requests reserve more than that
    async with site(tmp_path, home, PAIR) as place:
        run = await place.build(limits=limits, options=SMALL)
        assert run.status == "completed", run.text
        assert (await spent(place.world))[0] < 2_000


@pytest.mark.req("build-spending")
async def test_it_starts_as_many_runs_as_it_may_and_says_so(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, PAIR) as place:
        run = await place.build(options=BuildOptions(size="small", runs=6))
        assert run.status == "stalled" and "as many runs as it may: 6" in run.text
        assert len(await place.children()) == 6
        run = await place.resume()
        assert len(await place.children()) == 6, "nobody has asked for more"
        for number in (12, 15):
            await place.world.send("b", Retry(by="ada"))
            run = await place.resume()
            assert len(await place.children()) == number
        assert run.status == "completed", run.text


@pytest.mark.req("build-ceilings")
async def test_a_build_has_ceilings_though_nobody_named_any(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, ONE) as place:
        run = await place.build()
        spec = run.state.run_spec
        assert spec.limits.total_tokens == BUILD_TOKENS["small"]
        assert spec.build is not None and spec.build.options.run_tokens == RUN_TOKENS
        children = [(await place.world.get(child)).state for child in await place.children()]
        assert {child.run_spec.limits.total_tokens for child in children} == {RUN_TOKENS}
        turns = {child.run_spec.kind: child.run_spec.limits.turns for child in children}
        assert turns["code"] == 80


@pytest.mark.req("build-ceilings")
@pytest.mark.parametrize("limit", ["turns", "run_tokens"])
async def test_a_code_run_that_goes_in_circles_meets_its_ceiling(
    tmp_path: Path, limit: str
) -> None:
    home = project(tmp_path / "p", PROJECT)

    def inspect(kind: str, body: Any) -> Any:
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return reply(call("host.list", path="./" * turn + ".")) if kind == "code" else None

    most = {"turns": 6, "run_tokens": 60_000}[limit]
    options = BuildOptions.from_json({"size": "small", "attempts": 1, limit: most})
    async with site(tmp_path, home, PAIR) as place:
        place.model = Dear(Engineer(PAIR, inspect))
        run = await place.build(options=options)
        reason = {"turns": "turn_limit", "run_tokens": "token_limit"}[limit]
        assert run.status == "stalled" and run.state.build is not None
        reports = [p.coding.reports for s in run.state.build.specs for p in s.phases]
        assert any(f"The run stopped ({reason})" in report for some in reports for report in some)
        for child in await place.children():
            state = (await place.world.get(child)).state
            assert state.usage.input_tokens + state.usage.output_tokens <= 80_000


@pytest.mark.req("build-ceilings")
async def test_a_ceiling_that_was_met_is_raised_when_the_build_is_resumed(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    limits = Limits(max_tokens=300, total_tokens=40_000)
    async with site(tmp_path, home, ONE) as place:
        place.model = Dear(Engineer(ONE))
        run = await place.build(limits=limits)
        assert run.status == "stalled" and "The budget is used up" in run.text
        run = await place.resume(build_tokens=1_000_000)
        assert run.status == "completed", run.text
        assert failures(run) == 0
