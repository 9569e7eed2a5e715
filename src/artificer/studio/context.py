"""The part that views share: the world, the runs executed here, and a form that was sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from artificer.dispatch.agents import Agents
from artificer.errors import AuthorError, NotFoundError, OperatorError
from artificer.ports import Attachment
from artificer.ports.attachment import attachment_of
from artificer.runs import History, Run
from artificer.studio.access import Actor
from artificer.studio.bodies import Bodies
from artificer.studio.broadcasts import Broadcasts
from artificer.studio.choices import Offers
from artificer.studio.executions import Executions
from artificer.studio.exports import Exports
from artificer.studio.inbox_count import InboxCounter
from artificer.studio.jobs.records import JobRecords
from artificer.studio.jobs.service import Jobs
from artificer.studio.tokens import ApiTokens
from artificer.world import World

BEGIN_SECONDS, PAUSE_S = 30.0, 0.02

MAX_FILES = 20
"""Files of one prompt or message."""

READ_FILES = 200
"""Files of a form that are read, to say that they are too many and keep what was written."""

MAX_FIELDS = 600
MAX_FIELD = 8_000_000
"""Fields of a form, and characters of one: the longest prompt that a model reads."""


@dataclass(frozen=True)
class StudioContext:
    """A world with the runs that this studio executes, what runs can be begun with, its jobs, the
    tokens that open the API, and how many streams of it each sender has open."""

    world: World
    executions: Executions
    offers: Offers
    agents: Agents
    jobs: Jobs
    tokens: ApiTokens | None = None
    streams: Counter[str] = field(default_factory=Counter)
    exports: Exports = field(default_factory=Exports)
    bodies: Bodies = field(default_factory=Bodies)
    proving: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a replay or a verification is computed: one at a time."""

    @cached_property
    def broadcasts(self) -> Broadcasts:
        """The shared readers of the runs that someone watches."""
        return Broadcasts(self.world, self.executions.executes)

    @cached_property
    def inbox(self) -> InboxCounter:
        """How many runs wait for a person."""
        return InboxCounter(self.world)

    @cached_property
    def records(self) -> JobRecords:
        """The storage of the world, as the workers of jobs see it."""
        return JobRecords(self.jobs)

    async def begun(self, run: str) -> None:
        """Wait until a new run has its first record.

        Raises:
            OperatorError: it could not be begun.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + BEGIN_SECONDS
        while loop.time() < deadline:
            try:
                await self.world.get(run)
            except NotFoundError:
                if run in self.executions.failures:
                    raise OperatorError(self.executions.failures[run]) from None
                await asyncio.sleep(PAUSE_S)
            else:
                self.broadcasts.keep(run)
                return
        raise OperatorError("The run has not started.", hint="See the studio's log.")


def context_of(request: Request) -> StudioContext:
    """Return what the views of an application share."""
    return cast(StudioContext, request.app.state.studio)


async def run_of(request: Request) -> Run[Any]:
    """Return the run of a path. Raises NotFoundError, TamperedError."""
    return await context_of(request).world.get(request.path_params["run"])


async def history_of(request: Request) -> History:
    """Return the run of a path with its records. Raises NotFoundError, TamperedError."""
    return await context_of(request).world.archive.history(request.path_params["run"])


def actor_of(request: Request) -> Actor:
    """Return the person who sent a request."""
    return cast(Actor, request.state.actor)


@dataclass(frozen=True)
class Form:
    """A form, sent by the person whom the studio made it for."""

    data: FormData

    def text(self, name: str) -> str:
        """Return a field without the space around it, or nothing."""
        value = self.data.get(name)
        return value.replace("\r\n", "\n").strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the values of a field that may be there several times."""
        return tuple(value for value in self.data.getlist(name) if isinstance(value, str))

    def has_files(self) -> bool:
        """Whether a file was chosen."""
        return any(isinstance(f, UploadFile) and f.filename for f in self.data.getlist("files"))

    async def attachments(self) -> tuple[Attachment, ...]:
        """Return the files that were chosen. Raises AuthorError for too many, or a bad one."""
        files = [f for f in self.data.getlist("files") if isinstance(f, UploadFile) and f.filename]
        if len(files) > MAX_FILES:
            raise AuthorError(
                f"{len(files)} files are too many at once.", hint=f"Choose at most {MAX_FILES}."
            )
        return tuple([attachment_of(await f.read(), name=f.filename or "") for f in files])


async def posted(request: Request, *, files: int = 0) -> Form:
    """Read a form. Raises HTTPException for one that was not made for this person."""
    form = Form(await request.form(max_files=files, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD))
    if not actor_of(request).made(form.text("form_key")):
        raise HTTPException(403, "This form belongs to another person. Reload the page.")
    return form
