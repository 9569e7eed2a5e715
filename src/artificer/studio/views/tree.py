"""The runs below a run: a build's, with their checks and changes, or those of its agents."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from artificer.builds.facts import Checked
from artificer.builds.jobs import Check
from artificer.builds.state import BuildState
from artificer.core.events import BuildAdvanced
from artificer.core.intents import AdvanceBuild
from artificer.core.record import EventLine
from artificer.errors import NotFoundError
from artificer.runs import History
from artificer.studio.context import context_of, history_of
from artificer.studio.differences import patch_lines
from artificer.studio.pages import page

MAX_NODES = 500
"""Runs and changes that are shown."""


class CheckedChange(NamedTuple):
    """A change of a build that was checked. ``seq`` is the record of the result."""

    seq: int
    step: str
    passed: bool
    base: str
    commit: str


async def show(request: Request) -> Response:
    """Show the runs below a run, as they belong together."""
    archive = context_of(request).world.archive
    history = await history_of(request)
    run, build = history.run, history.run.state.build
    nodes = await archive.tree(run.id) if build else await archive.children(run.id)
    values = {
        "run": run,
        "build": build,
        "nodes": nodes[:MAX_NODES],
        "hidden": max(0, len(nodes) - MAX_NODES),
        "changes": changes(history)[-MAX_NODES:],
        "all_of_it": _all_of_it(build),
    }
    return page(request, "tree", values)


async def change(request: Request) -> Response:
    """Show the difference that a checked change makes; 0 is the whole build's."""
    context = context_of(request)
    history = await history_of(request)
    run = history.run
    known = {str(one.seq): one for one in changes(history)}
    if run.state.build is not None and (whole := _all_of_it(run.state.build)) is not None:
        known["0"] = whole
    found = known.get(request.path_params["seq"])
    if found is None:
        raise NotFoundError("The build has no such change.")
    patch = await context.world.builds.diff(run.id, found.base, found.commit)
    return page(request, "change", {"run": run, "change": found, "lines": patch_lines(patch)})


def changes(history: History) -> list[CheckedChange]:
    """Return the changes of a build that were checked, oldest first."""
    jobs: dict[str, Check] = {}
    found: list[CheckedChange] = []
    for line in history.lines:
        if not isinstance(line, EventLine):
            if isinstance(line.intent, AdvanceBuild) and isinstance(line.intent.wish, Check):
                jobs[line.intent.wish.key] = line.intent.wish
            continue
        fact = line.event.fact if isinstance(line.event, BuildAdvanced) else None
        if isinstance(fact, Checked) and fact.commit and (job := jobs.get(fact.key)):
            step = job.step.path
            found.append(CheckedChange(line.seq, step, fact.passed, job.commit, fact.commit))
    return found


def _all_of_it(build: BuildState | None) -> CheckedChange | None:
    if build is None or not build.integration or build.integration == build.base:
        return None
    return CheckedChange(0, "all that is merged", True, build.base, build.integration)
