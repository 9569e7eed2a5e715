"""The runs that workers leave alone until a person does something about them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct

from artificer.core.state import RunPhase, RunState
from artificer.ownership.job_leases import failed_jobs
from artificer.ports import Storage
from artificer.runtime.falls import MAX_FALLS, falls_of
from artificer.runtime.load import Loaded
from artificer.runtime.snapshot import restore
from artificer.runtime.waiting import waited_for

LOOKED_AT = 100
"""Runs that are looked at, of those that a run waits for."""


class AbandonedRun(Struct, frozen=True):
    """A run that workers leave alone.

    So many processes have died executing it (``falls``), or it is a dead letter: so many attempts
    of workers over HTTP have failed (``failures``), the last one with an ``error``.
    """

    run: str
    falls: int = 0
    failures: int = 0
    error: str = ""


async def abandoned_runs(storage: Storage, project: Path, loaded: Loaded) -> list[AbandonedRun]:
    """Return which of a run and of those that it waits for workers leave alone, it first.

    The dead letters are those of a studio in this ``project`` folder.
    """
    states = {loaded.run: loaded.state}
    async for run, state in waited_for(storage, loaded.run, loaded.state):
        states[run] = state
        if len(states) > LOOKED_AT:
            break
    own = {run: state for run, state in states.items() if _is_for_workers(state)}
    dead = await asyncio.to_thread(failed_jobs, project, list(own))
    found = []
    for run, state in own.items():
        if run in dead:
            found.append(AbandonedRun(run, 0, dead[run].failures, dead[run].error))
        elif state.standing == "open" and not state.only_waits:
            known = loaded if run == loaded.run else await _restored(storage, run)
            if (falls := falls_of(known.lines)) >= MAX_FALLS:
                found.append(AbandonedRun(run, falls))
    return found


async def _restored(storage: Storage, run: str) -> Loaded:
    return await restore(storage.journal, storage.blobs, storage.snapshots, run)


def _is_for_workers(state: RunState) -> bool:
    return state.run_spec.submission is not None and state.phase is not RunPhase.FINISHED
