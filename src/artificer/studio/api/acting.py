"""Beginning runs, sending them messages, continuing and ending them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from artificer.agent import Agent
from artificer.core.signals import Cancel, FollowUp, Interrupt, Pause, Signal, Steer
from artificer.runtime.fork import ForkChanges
from artificer.studio.api.answers import Begun, Sent
from artificer.studio.api.declared import ApiRequest, LongText, ShortName, ShortText
from artificer.studio.api.reading import run_of


class NewRun(Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt, and the ``provider/model`` that answers; without one, that of the project."""

    prompt: LongText
    model: ShortName | None = None


class MessageBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A text for the model."""

    text: LongText


class ReasonBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Why, for the record."""

    reason: ShortText = ""


class ResumeBody(Struct, frozen=True, forbid_unknown_fields=True):
    """``take_over`` takes the run from a process that still executes it."""

    take_over: bool = False


class ForkBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a fork begins, and what is changed: the prompt, the model, a message to it."""

    at: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    prompt: LongText | None = None
    steer: Annotated[str, Meta(max_length=500_000)] = ""
    model: ShortName | None = None


async def begin_run(request: ApiRequest) -> Begun:
    """Begin a run, which this studio executes."""
    body: NewRun = request.body
    world = request.world
    run = world.clock.new_run_id()
    agent = Agent(model=body.model or None)
    request.context.executions.start(run, lambda: world.run(body.prompt, agent, run_id=run))
    await request.context.begun(run)
    return Begun(run)


async def fork_run(request: ApiRequest) -> Begun:
    """Begin a run with the facts of another one."""
    body: ForkBody = request.body
    world, origin = request.world, (await run_of(request)).id
    new = world.clock.new_run_id()
    changes = ForkChanges(at=body.at, prompt=body.prompt, steer=body.steer)
    agent = Agent(model=body.model or None)
    request.context.executions.start(new, lambda: world.fork(origin, agent, changes, new_id=new))
    await request.context.begun(new)
    return Begun(new)


async def steer_run(request: ApiRequest) -> Sent:
    """Say something to the model before its next reply."""
    return await send(request, Steer(by=request.actor.name, text=request.body.text))


async def follow_up_run(request: ApiRequest) -> Sent:
    """Ask something more when the run is over."""
    return await send(request, FollowUp(by=request.actor.name, text=request.body.text))


async def pause_run(request: ApiRequest) -> Sent:
    """Let nothing new begin until the run is resumed."""
    signal = Pause(by=request.actor.name, reason=request.body.reason)
    return await send(request, signal, resume=False)


async def interrupt_run(request: ApiRequest) -> Sent:
    """Let nothing new begin, and end the run when all is quiet."""
    return await send(request, Interrupt(by=request.actor.name, reason=request.body.reason))


async def cancel_run(request: ApiRequest) -> Sent:
    """End what is under way, and the run."""
    return await send(request, Cancel(by=request.actor.name, reason=request.body.reason))


async def resume_run(request: ApiRequest) -> Sent:
    """Continue a run here, if no other process executes it."""
    run = request.named("run")
    await request.context.executions.resume(run, take_over=request.body.take_over)
    return Sent(run)


async def send(request: ApiRequest, signal: Signal, *, resume: bool = True) -> Sent:
    """Send a signal, and continue the run here, or the one that waits for it.

    Raises NotFoundError, AuthorError.
    """
    run = request.named("run")
    number = await request.world.send(run, signal)
    if resume:
        await request.context.executions.resume(run)
    return Sent(run, number)
