"""Endpoints that start runs, send them messages, continue and end them."""

from __future__ import annotations

import base64
from typing import Annotated

from msgspec import Meta, Struct

from artificer.agent_definition import AgentKind
from artificer.core.signals import Cancel, FollowUp, Interrupt, Pause, Signal, Steer
from artificer.ports import Attachment
from artificer.ports.attachment import attachment_of
from artificer.runtime.fork import ForkChanges
from artificer.studio.api.answers import Begun, Sent
from artificer.studio.api.declared import ApiRequest, LongText, ShortName, ShortText
from artificer.studio.api.reading import run_of
from artificer.studio.beginning import Beginning, begin, fork
from artificer.studio.choices import MAX_TOOLS, Choices
from artificer.studio.context import MAX_FILES

BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

MAX_BASE64 = 45_000_000
"""Characters of a file: those of the largest attachment that is read at all."""

RecordPlace = Annotated[int, Meta(ge=1, le=2**53)]

LimitNumber = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class FileBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An image, a sound or a file: its bytes in Base64. Its media type is found from them."""

    data: Annotated[str, Meta(pattern=BASE64, min_length=4, max_length=MAX_BASE64)]
    name: ShortName = ""


FileBodies = Annotated[tuple[FileBody, ...], Meta(max_length=MAX_FILES)]


class RunLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a run: dollars, turns, tokens. Members left out are as configured."""

    cost: Annotated[float, Meta(ge=0.000_001, le=1_000_000)] | None = None
    turns: LimitNumber | None = None
    total_tokens: LimitNumber | None = None


class NewRun(Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt with its files, and how to run it; members left out are as configured.

    ``model`` is a ``provider/model``, ``agent`` one of those that `GET /choices` lists, and
    ``tools`` are those tools of the project that the run may use.
    """

    prompt: LongText
    model: ShortName | None = None
    agent: ShortName = ""
    kind: AgentKind | None = None
    tools: Annotated[tuple[ShortName, ...], Meta(max_length=MAX_TOOLS)] | None = None
    limits: RunLimits = RunLimits()
    attachments: FileBodies = ()


class MessageBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A text for the model, with files."""

    text: LongText
    attachments: FileBodies = ()


class ReasonBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The reason, to be recorded."""

    reason: ShortText = ""


class ResumeBody(Struct, frozen=True, forbid_unknown_fields=True):
    """``take_over`` takes the run from a process that still executes it."""

    take_over: bool = False


class EditBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a call's result, by the number of its record."""

    record: RecordPlace
    content: Annotated[str, Meta(max_length=500_000)]


class ForkBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a fork starts, and what it changes: the prompt, the model, a message to it.

    ``edits`` replace the results of calls. ``agent`` is the one whose functions the run needs;
    without it, the agent is found by its tools.
    """

    at: RecordPlace | None = None
    edits: Annotated[tuple[EditBody, ...], Meta(max_length=100)] = ()
    agent: ShortName = ""
    prompt: LongText | None = None
    steer: Annotated[str, Meta(max_length=500_000)] = ""
    model: ShortName | None = None


async def begin_run(request: ApiRequest) -> Begun:
    """Start a run, which this studio executes."""
    body: NewRun = request.body
    limits = body.limits
    wanted = Beginning(
        prompt=body.prompt,
        attachments=_attachments(body.attachments),
        model=body.model or "",
        agent=body.agent,
        kind=body.kind,
        tools=body.tools,
        cost=limits.cost,
        turns=limits.turns,
        total_tokens=limits.total_tokens,
    )
    return Begun(await begin(request.context, wanted))


async def show_choices(request: ApiRequest) -> Choices:
    """Show what a run can be started with: available models, agents, tools."""
    return await request.context.offers.choices()


async def fork_run(request: ApiRequest) -> Begun:
    """Start a run with the facts of another one."""
    body: ForkBody = request.body
    edits = {edit.record: edit.content for edit in body.edits}
    changes = ForkChanges(body.at, edits, body.steer, body.prompt)
    return Begun(
        await fork(request.context, await run_of(request), changes, body.model, body.agent)
    )


async def steer_run(request: ApiRequest) -> Sent:
    """Send a message to the model before its next reply."""
    signal = Steer(by=request.actor.name, text=request.body.text)
    return await send(request, signal, files=request.body.attachments)


async def follow_up_run(request: ApiRequest) -> Sent:
    """Send another prompt to a finished run."""
    signal = FollowUp(by=request.actor.name, text=request.body.text)
    return await send(request, signal, files=request.body.attachments)


async def pause_run(request: ApiRequest) -> Sent:
    """Start nothing new until the run is resumed."""
    signal = Pause(by=request.actor.name, reason=request.body.reason)
    return await send(request, signal, resume=False)


async def interrupt_run(request: ApiRequest) -> Sent:
    """Start nothing new, and end the run when nothing is in progress."""
    return await send(request, Interrupt(by=request.actor.name, reason=request.body.reason))


async def cancel_run(request: ApiRequest) -> Sent:
    """Stop what is in progress, and end the run."""
    return await send(request, Cancel(by=request.actor.name, reason=request.body.reason))


async def resume_run(request: ApiRequest) -> Sent:
    """Continue a run here, if no other process executes it."""
    run = request.named("run")
    await request.context.executions.resume_here(run, take_over=request.body.take_over)
    return Sent(run)


async def send(
    request: ApiRequest, signal: Signal, *, resume: bool = True, files: FileBodies = ()
) -> Sent:
    """Send a signal, and continue the run here, or the one that waits for it.

    Raises NotFoundError, AuthorError.
    """
    run = request.named("run")
    number = await request.world.send(run, signal, attachments=_attachments(files))
    if resume:
        await request.context.executions.resume(run)
    return Sent(run, number)


def _attachments(files: FileBodies) -> tuple[Attachment, ...]:
    """Return the files of a body. Raises AuthorError for one that is not an attachment."""
    return tuple(attachment_of(base64.b64decode(one.data), name=one.name) for one in files)
