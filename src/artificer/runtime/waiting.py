"""The runs that a run's open calls wait for: their questions, and whether they may continue.

A child's id begins with its caller's. So a journal that names another run as its child's, which
anyone can write, leads nowhere, and never in a circle.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from artificer.core.state import RunPhase, RunState
from artificer.errors import ArtificerError
from artificer.ports import BlobStore, Journal, Question, Storage
from artificer.runtime.load import UNREADABLE, Loaded, load
from artificer.runtime.snapshot import restored, state_of


def questions_of(run: str, state: RunState) -> list[Question]:
    """Return the calls of a run that wait for a person's approval."""
    waiting = {pending.call_id for pending in state.pending if pending.type == "AskApproval"}
    return [
        Question(
            run,
            call.verdict.tool,
            call.verdict.arguments or "",
            call.verdict.reason,
            call.verdict.digest or "",
        )
        for call in state.calls
        if call.id in waiting and call.verdict is not None
    ]


async def questions_below(storage: Storage, run: str, state: RunState) -> tuple[Question, ...]:
    """Return the questions of the runs that a run waits for, and of those that these wait for."""
    return tuple(
        [
            question
            async for child, found in waited_for(storage, run, state)
            for question in questions_of(child, found)
        ]
    )


async def waited_for(
    storage: Storage, run: str, state: RunState
) -> AsyncIterator[tuple[str, RunState]]:
    """Yield the runs that a run waits for as they stand now, each before those it waits for.

    One that cannot be read, or has been pruned, is left out.
    """
    waiting = [(run, wait.run) for wait in state.waits]
    while waiting:
        parent, child = waiting.pop(0)
        if not child.startswith(f"{parent}."):
            continue
        try:
            loaded = await restored(storage, child)
        except ArtificerError:
            continue
        found = loaded.state
        if found.run_spec.parent == parent and found.phase is not RunPhase.FINISHED:
            yield child, found
            waiting[:0] = [(child, wait.run) for wait in found.waits]


async def unfinished_above(journal: Journal, blobs: BlobStore, loaded: Loaded) -> str:
    """Return the nearest run above this one that has not finished; empty if there is none."""
    run, state = loaded.run, loaded.state
    while (above := state.run_spec.parent) and run.startswith(f"{above}."):
        try:
            run, state = above, (await load(journal, blobs, above)).state
        except UNREADABLE:  # it was pruned, is not in this world, or can never continue
            return ""
        if state.phase is not RunPhase.FINISHED:
            return run
    return ""


async def may_continue(storage: Storage, run: str) -> bool:
    """Whether an idle run has something to continue with.

    That is an unread signal to it, or to one that it waits for; or its end, if it was executed by
    itself meanwhile.
    """
    state = await state_of(storage, run)
    return state.phase is RunPhase.FINISHED or await has_untaken(storage, run, state)


async def has_untaken(storage: Storage, run: str, state: RunState) -> bool:
    """Whether a run, or one that it waits for, has unread signals."""
    if await storage.signals.read(run, state.letters):
        return True
    return any(
        [
            await storage.signals.read(child, found.letters)
            async for child, found in waited_for(storage, run, state)
        ]
    )
