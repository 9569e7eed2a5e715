"""Signals to runs, as a program sends them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypedDict

from artificer.agent_definition import AgentDefinition
from artificer.core.signals import AnswerCall, MessageSignal, Signal, longest, require_readable
from artificer.errors import AuthorError
from artificer.ports import Attachment
from artificer.ports.attachment import checked
from artificer.providers.chain import providers_of
from artificer.runtime.load import no_run
from artificer.runtime.snapshot import state_of
from artificer.runtime.waiting import questions_below, questions_of
from artificer.values.arguments import shown
from artificer.values.base import Value
from artificer.wiring.assemble import recorded_provider
from artificer.wiring.prompts import attached_blocks
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import OpenStorage


class MessageOptions(TypedDict, total=False):
    """The attachments of a message, and the agent whose provider has to take them."""

    attachments: Sequence[Attachment]
    agent: AgentDefinition[Any] | None


async def send(
    world: WorldResources,
    run_id: str,
    signal: Signal,
    attachments: Sequence[Attachment] = (),
    agent: AgentDefinition[Any] | None = None,
) -> int:
    """Put a signal into a run's queue, and return its number.

    Raises what :func:`post` raises, and:
        AuthorError: attachments are too much, or do not belong to a message.
        ConfigError: the run's model cannot read one of them.
    """
    signal = await attached(world, run_id, signal, attachments, agent or AgentDefinition())
    return await post(world.storage, run_id, signal)


async def attached(
    world: WorldResources,
    run_id: str,
    signal: Signal,
    attachments: Sequence[Attachment],
    agent: AgentDefinition[Any],
) -> Signal:
    """Return a message with its attachments, whose bytes are then stored."""
    if not attachments:
        return signal
    storage = world.storage
    state = await state_of(storage, run_id)
    if not isinstance(signal, MessageSignal) or state.build is not None:
        what = "A build" if isinstance(signal, MessageSignal) else "This signal"
        raise AuthorError(f"{what} takes no attachments.", hint="Put their contents into the text.")
    spec, known = state.run_spec, [checked(one) for one in attachments]
    providers = providers_of(recorded_provider(world, agent, spec))
    models = dict(zip(spec.full_names, providers, strict=True))
    blocks = attached_blocks(known, models, spec.limits, state.attached)
    for one in known:
        await asyncio.to_thread(storage.blobs.put, one.data)
    return signal.replace(attachments=blocks)


async def _asking(storage: OpenStorage, run_id: str, call: str) -> str:
    """Return the run that asks about a call: the run itself, or one that it waits for."""
    state = await state_of(storage, run_id)
    if call not in [question.digest for question in questions_of(run_id, state)]:
        for question in await questions_below(storage, run_id, state):
            if question.digest == call:
                return question.run
    return run_id


async def post(storage: OpenStorage, run_id: str, signal: Signal) -> int:
    """Put a signal into a run's queue, and return its number.

    An answer about a call of a run that this one waits for is put into that run's queue.

    Raises:
        NotFoundError: no such run.
        AuthorError: the signal is too long, or an attachment of it is not stored.
        InvalidValueError: a member of the signal is too long, or of the wrong type.
        OperatorError: too many signals wait for the run.
    """
    if not await storage.journal.read(run_id, limit=1):
        raise no_run(run_id)
    if isinstance(signal, AnswerCall):
        run_id = await _asking(storage, run_id, signal.call)
    for block in signal.attachments if isinstance(signal, MessageSignal) else ():
        if not storage.blobs.has(block.digest):
            raise AuthorError(
                f"The attachment {block.digest} is not stored.",
                hint="Pass the attachment itself: world.send(run, signal, attachments=[…]).",
            )
    if not isinstance(signal, Value):
        raise AuthorError(
            f"{shown(signal)} is not a signal.",
            hint='Send one: world.send(run, FollowUp(text="…")).',
        )
    body = signal.canonical()
    if len(body) > longest(signal):
        raise AuthorError(
            f"Such a signal has at most {longest(signal):,} bytes; this has {len(body):,}.",
            hint="Send a shorter text, or attach a file.",
        )
    require_readable(body)
    return await storage.signals.post(run_id, body)
