"""DBOS: model and tool are steps of a workflow; ``launch`` recovers what is pending.

Approval by ``recv``. Its database is SQLite, as it is by default.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version as version_of
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from outside import NothingToResumeError, Outside, WaitingError

NAME = "DBOS"
WARM = False
CHILDREN = False
PROBES = False
NOT: dict[str, str] = {}
here: list[Outside] = []


def version() -> str:
    return version_of("dbos")


@DBOS.step()
async def model(turn: int, told: list[list[str]]) -> list[list[str]]:
    return [list(call) for call in here[-1].model(turn, [(o, t) for o, t in told]).calls]


@DBOS.step()
async def charge(order: str) -> str:
    return await here[-1].charge(order)


@DBOS.workflow()
async def agent(approval: bool) -> str:
    told: list[list[str]] = []
    turn = 0
    while True:
        calls = await model(turn, told)
        if not calls:
            return "done"
        if approval and await DBOS.recv_async("approval", timeout_seconds=3600) != "yes":
            return "denied"
        results = await asyncio.gather(*(charge(order) for _, order in calls))
        told = told + [[c[1], r] for c, r in zip(calls, results, strict=True)]
        turn += 1


async def drive(outside: Outside) -> None:
    here.append(outside)
    url = f"sqlite:///{outside.state / 'dbos.sqlite'}"
    config: DBOSConfig = {"name": "bench", "system_database_url": url, "run_admin_server": False}
    DBOS(config=config)
    DBOS.launch()
    try:
        if outside.resumed:
            if await DBOS.get_workflow_status_async("run") is None:
                raise NothingToResumeError
            if outside.plan.approve:
                await DBOS.send_async("run", "yes", topic="approval")
            handle: Any = await DBOS.retrieve_workflow_async("run")
        else:
            with SetWorkflowID("run"):
                handle = await DBOS.start_workflow_async(agent, outside.approval)
        result = asyncio.ensure_future(handle.get_result())
        if outside.approval and not outside.plan.approve:
            await asyncio.wait((result,), timeout=2)
            if not result.done():
                raise WaitingError
        await result
    finally:
        DBOS.destroy()
