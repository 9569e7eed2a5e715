"""Endpoints that show runs: lists, one run, its records, its artifacts, the inbox, search."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response, StreamingResponse

from artificer.errors import NotFoundError, RateLimitError, TamperedError
from artificer.events import RunEvent
from artificer.run_artifact import RunArtifact
from artificer.runs import Run
from artificer.runtime.explaining.explanation import Explanation
from artificer.runtime.limits.day_budget import DayBudget
from artificer.runtime.proving.compare import Comparison
from artificer.studio.api.answers import (
    ArtifactList,
    CallerAnswer,
    EventPage,
    HitList,
    InboxAnswer,
    RelatedRuns,
    RunAnswer,
    RunPage,
    WaitingQuestion,
    artifact_names,
    questions_of,
    run_answer,
)
from artificer.studio.api.declared import ApiRequest, ShortName
from artificer.studio.live import EVENT_STREAM, after_of

MAX_PAGE = 200
"""Limit on the runs, events or hits of one answer."""

MAX_STREAMS = 100
"""Limit on the streams of one sender that are open at a time."""

PageSize = Annotated[int, Meta(ge=1, le=MAX_PAGE)]

RecordNumber = Annotated[int, Meta(ge=0, le=2**53)]


class RunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Runs that come after the run ``before`` and match the filters.

    ``text`` are words of the prompt, ``model`` and ``agent`` parts of the names; ``since`` and
    ``until`` limit the start time, in milliseconds. ``builds`` adds runs that builds started.
    """

    limit: PageSize = 50
    before: ShortName | None = None
    builds: bool = False
    text: Annotated[str, Meta(max_length=1_000)] = ""
    status: ShortName | None = None
    kind: ShortName | None = None
    model: ShortName = ""
    agent: ShortName = ""
    parent: ShortName = ""
    waiting: bool = False
    since: RecordNumber = 0
    until: RecordNumber | None = None
    oldest_first: bool = False


class InboxQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to ``limit`` runs that wait, and come after the run ``before``."""

    limit: PageSize = MAX_PAGE
    before: ShortName | None = None


class EventsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Events of the records after ``after``."""

    after: RecordNumber = 0
    limit: PageSize = MAX_PAGE


class StreamQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Events of the records after ``after``; a header ``Last-Event-ID`` takes precedence."""

    after: RecordNumber = 0


class SearchQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Words, ``"phrases"`` and prefixes (``word*``); ``since`` is in milliseconds."""

    q: Annotated[str, Meta(min_length=1, max_length=1_000)]
    limit: PageSize = 50
    kind: ShortName | None = None
    since: RecordNumber = 0


class OtherRun(Struct, frozen=True, forbid_unknown_fields=True):
    """The other run."""

    other: Annotated[str, Meta(min_length=1, max_length=200)]


async def show_caller(request: ApiRequest) -> CallerAnswer:
    """Show who sends the request, and what they may do."""
    return CallerAnswer(request.actor.name, tuple(sorted(request.actor.scopes)))


async def list_runs(request: ApiRequest) -> RunPage:
    """List the runs that match the filters, newest first."""
    wanted: dict[str, Any] = msgspec.structs.asdict(request.query)
    limit, before = wanted.pop("limit"), wanted.pop("before")
    found = await request.world.archive.list_runs(limit, before, at_once=True, **wanted)
    return RunPage(found.runs, found.next, found.searched)


async def show_run(request: ApiRequest) -> RunAnswer:
    """Show the current state of a run."""
    run, executions = await run_of(request), request.context.executions
    problem = executions.problem(run.id, over=run.state.status is not None)
    return run_answer(run, executing=executions.executes(run.id), problem=problem)


async def explain_run(request: ApiRequest) -> Explanation:
    """Explain a run's status, its reason, and what to do next."""
    return await request.world.archive.explain(request.named("run"))


async def list_events(request: ApiRequest) -> EventPage:
    """List the recorded events of a run."""
    query: EventsQuery = request.query
    run = await run_of(request)
    found = [event for event in run.events if event.seq > query.after]
    page = list[RunEvent]()
    for event in found:  # the events of one record stay together
        if len(page) >= query.limit and event.seq != page[-1].seq:
            break
        page.append(event)
    return EventPage(tuple(page), page[-1].seq if len(page) < len(found) else None)


async def stream_events(request: ApiRequest) -> Response:
    """Stream the events of a run as they happen, as server-sent events; the last is `run_ended`."""
    run = await run_of(request)
    after, broadcasts = after_of(request.http, request.query.after), request.context.broadcasts
    streams, sender = request.context.streams, request.actor.sender
    if streams[sender] >= MAX_STREAMS:
        raise RateLimitError(f"{MAX_STREAMS} streams are open already.", seconds=10)
    if request.http.method == "HEAD":
        return Response(media_type=EVENT_STREAM)

    async def pieces() -> AsyncIterator[bytes]:
        streams[sender] += 1
        try:
            async with aclosing(broadcasts.pieces(run.id, after)) as found:
                async for piece in found:
                    yield piece
        finally:
            streams[sender] -= 1
            if not streams[sender]:
                del streams[sender]

    return StreamingResponse(pieces(), media_type=EVENT_STREAM)


async def list_artifacts(request: ApiRequest) -> ArtifactList:
    """List the artifacts of a run's report, or those made so far."""
    return ArtifactList(artifact_names(await run_of(request)))


async def show_artifact(request: ApiRequest) -> RunArtifact:
    """Show an artifact with its payload; a table and a chart also have rows."""
    run, name = await run_of(request), request.named("artifact")
    found = run.artifacts.get(name)
    if found is None:
        raise NotFoundError(f"Run {run.id} has no artifact {name!r}.")
    return found


async def show_related(request: ApiRequest) -> RelatedRuns:
    """Show the runs that a build started, and those of agents that a run called."""
    archive, run = request.world.archive, request.named("run")
    return RelatedRuns(tuple(await archive.tree(run)), tuple(await archive.children(run)))


async def compare_runs(request: ApiRequest) -> Comparison:
    """Show where two runs first differ, and in what."""
    return await request.world.archive.diff(request.named("run"), request.query.other)


async def show_inbox(request: ApiRequest) -> InboxAnswer:
    """List everything that waits for a person, across runs, newest run first."""
    query: InboxQuery = request.query
    world, questions = request.world, list[WaitingQuestion]()
    found = await world.archive.list_runs(query.limit, query.before, at_once=True, waiting=True)
    for run in found.runs:
        with suppress(NotFoundError, TamperedError):  # gone, or damaged, since it was listed
            questions += questions_of(await world.get(run.run))
    return InboxAnswer(tuple(dict.fromkeys(questions)), found.next, found.searched)


async def search_records(request: ApiRequest) -> HitList:
    """Find the records whose text contains all the words, newest first."""
    query: SearchQuery = request.query
    archive = request.world.archive
    hits = await archive.search(query.q, query.limit, kind=query.kind, since=query.since)
    return HitList(tuple(hits))


async def show_budget(request: ApiRequest) -> DayBudget:
    """Show the project's spending today, and its limits."""
    return await request.world.archive.budget()


async def run_of(request: ApiRequest) -> Run[Any]:
    """Return the run of a path. Raises NotFoundError, TamperedError."""
    return await request.world.get(request.named("run"))
