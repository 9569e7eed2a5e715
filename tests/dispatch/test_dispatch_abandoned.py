"""Runs that workers leave alone: `explain` says why, and which runs wait for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from children_suite import NAME, boss, chat

from artificer import Agent, World
from artificer.config import Config
from artificer.dispatch.segments import Segments
from artificer.ownership.job_leases import FILE
from artificer.ports import AwaitsRuns
from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.queue import JobQueue

pytestmark = pytest.mark.req("abandoned-explained")


async def nothing(run: str) -> None:
    """Wake no caller."""


def fail(world: World, run: str, error: str) -> None:
    """Let workers over HTTP fail to execute a run until it is a dead letter."""
    file = JobFile(world.config.project_folder / FILE)
    queue = JobQueue(file, world.clock.now)
    queue.submit(run, attempts=1)
    row = queue.lease("someone", "w", "r", 60)
    assert row is not None and queue.end(row, "queued", "", failed=error).state == "dead"
    file.close()


async def test_a_dead_letter_and_the_run_that_waits_for_it(tmp_path: Path) -> None:
    agent: Agent = boss(2, chat("One."))
    async with World.open(Config(home=tmp_path, project="p")) as world:
        top = await world.submit("Go.", agent, name=NAME)
        awaits = await Segments(world, {NAME: agent}, nothing).execute(top, "submitted")
        assert isinstance(awaits, AwaitsRuns)
        dead, _ = awaits.runs
        before = await world.archive.explain(top)
        assert "A worker continues it then." in before.why
        fail(world, dead, "There is no room on the disk.")

        letter = await world.archive.explain(dead)
        assert "It is a dead letter: 1 attempt of workers failed" in letter.why
        assert letter.why.endswith("The last error: There is no room on the disk.")
        assert letter.next == (f"artificer resume {dead}", f"artificer cancel {dead}")
        assert not letter.queued
        caller = await world.archive.explain(top)
        assert f"Workers leave {dead} alone: a person has to see to that first." in caller.why
        assert "A worker continues it then." not in caller.why
        assert caller.next == (f"artificer explain {dead}", f"artificer cancel {top}")

        await world.cancel(dead)
        assert (await world.archive.explain(dead)).why.startswith("It was cancelled.")
        assert (await world.archive.explain(top)).why == before.why


async def test_a_queue_that_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    async with World.open(Config(home=tmp_path, project="p")) as world:
        run = await world.submit("Go.", chat("One."))
        before = await world.archive.explain(run)
        (world.config.project_folder / FILE).write_text("This is no database.\n" * 100)
        assert await world.archive.explain(run) == before
