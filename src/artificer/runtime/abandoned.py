"""The runs that workers leave alone until a person does something about them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from artificer.core.record import Line
from artificer.core.state import RunPhase, RunState
from artificer.ownership.job_leases import failed_jobs
from artificer.ports import Storage
from artificer.runtime.falls import MAX_FALLS, falls_of
from artificer.runtime.snapshot import restored
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


async def abandoned_runs(
    storage: Storage, project: Path, run: str, state: RunState, lines: Sequence[Line]
) -> list[AbandonedRun]:
    """Return which of a run and of those that it waits for workers leave alone, it first.

    The dead letters are those of a studio in this ``project`` folder.
    """
    states = {run: state}
    async for child, found in waited_for(storage, run, state):
        states[child] = found
        if len(states) > LOOKED_AT:
            break
    own = {name: found for name, found in states.items() if _is_for_workers(found)}
    dead = await asyncio.to_thread(failed_jobs, project, list(own))
    abandoned = []
    for name, found in own.items():
        if name in dead:
            abandoned.append(AbandonedRun(name, 0, dead[name].failures, dead[name].error))
        elif found.standing == "open" and not found.only_waits:
            known = lines
            if name != run:
                loaded = await restored(storage, name)
                known = loaded.lines
            if (falls := falls_of(known)) >= MAX_FALLS:
                abandoned.append(AbandonedRun(name, falls))
    return abandoned


def _is_for_workers(state: RunState) -> bool:
    return state.run_spec.submission is not None and state.phase is not RunPhase.FINISHED
