"""Agents: a model with its instructions, tools and rules, that runs in a world.

>>> agent = Agent("local/smollm2", instructions="Answer in one sentence.")
>>> run = agent.run_sync("Why is the sky blue?")
>>> print(run.text)

In a program that has an event loop, open a world once and let all runs share it:

>>> async with World.open() as world:
...     run = await agent.run("Why is the sky blue?", world=world)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from artificer.agent_definition import (
    AgentDefinition,
    AgentTool,
    ChildOptions,
    agent_tool,
    handoff_tool,
)
from artificer.contracts.output import OutputT
from artificer.core.signals import AnswerCall, FollowUp
from artificer.errors import AuthorError, NotFoundError
from artificer.ports import Prompt
from artificer.ports.attachment import split_prompt
from artificer.system.blocking import iterate, wait_for
from artificer.values.arguments import instance, shown
from artificer.values.parameters import named_parameters
from artificer.wiring.argument_places import place_of
from artificer.wiring.engines import Attendance
from artificer.world import World, follow_up

if TYPE_CHECKING:
    from artificer.agent_arguments import (
        AnswerArguments,
        FollowUpArguments,
        ForkArguments,
        ResumeArguments,
        RunArguments,
        StreamArguments,
    )
    from artificer.events import RunEvent
    from artificer.ports import Approver
    from artificer.runs import Run
    from artificer.runtime.fork import ForkChanges
    from artificer.runtime.watching.observe import Observer
    from artificer.runtime.watching.stream import RunStream
    from artificer.wiring.conversation import EarlierMessages


@named_parameters(place_of)
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)  # the methods of a definition do
class Agent(AgentDefinition[OutputT]):
    """A reusable agent. Tasks may share one: it is frozen and keeps no state between runs.

    Every method takes the ``world`` to run in; without one, the project's world is opened for the
    call and closed after it. A run is given as its id or as a :class:`Run`. ``deps`` are the
    objects that functions receive with their `RunContext`; pass them again to continue a run.
    """

    async def run(
        self,
        prompt: Prompt,
        *,
        world: World | None = None,
        approver: Approver | None = None,
        observer: Observer | None = None,
        run_id: str | None = None,
        history: EarlierMessages | None = None,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Run a prompt to its end, as `World.run` does, and raise what it raises.

        >>> run = await agent.run(["What is in this picture?", Image.from_path("cat.png")])
        >>> first = await agent.run("My name is Ada.")
        >>> second = await agent.run("What is my name?", history=first)
        """
        async with _opened(world) as world:
            return await world.run(
                prompt,
                self,
                approver=approver,
                observer=observer,
                run_id=run_id,
                history=history,
                deps=deps,
            )

    @asynccontextmanager
    async def stream(
        self,
        prompt: Prompt,
        *,
        world: World | None = None,
        approver: Approver | None = None,
        run_id: str | None = None,
        history: EarlierMessages | None = None,
        deps: Any = None,
    ) -> AsyncIterator[RunStream[Run[OutputT]]]:
        """Run a prompt and yield its events as they happen.

        >>> async with agent.stream("Why is the sky blue?") as stream:
        ...     async for piece in stream.text():
        ...         print(piece, end="")
        ...     run = await stream.result()
        """
        async with (
            _opened(world) as world,
            world.stream(
                prompt, self, approver=approver, run_id=run_id, history=history, deps=deps
            ) as stream,
        ):
            yield stream

    async def follow_up(
        self,
        run: str | Run,
        prompt: Prompt,
        *,
        world: World | None = None,
        approver: Approver | None = None,
        observer: Observer | None = None,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Continue a finished run with another prompt: a text, or texts with attachments.

        A run that cannot be continued here does not get the prompt. Raises what :meth:`resume`
        does, AuthorError for over 8 MiB or too many attachments, and ConfigError for one that the
        model cannot read.
        """
        text, attachments = split_prompt(prompt)
        async with _opened(world) as world:
            message = FollowUp(text=text).verified()
            attendance = Attendance(approver, None, observer, deps)
            return await follow_up(world, _id(run), message, self, attachments, attendance)

    async def resume(
        self,
        run: str | Run,
        *,
        world: World | None = None,
        approver: Approver | None = None,
        observer: Observer | None = None,
        take_over: bool = False,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Continue a run where its journal ends, as `World.resume` does, and raise what it raises.

        The agent supplies the functions and the output type, the caller the dependencies;
        everything else is recorded.
        """
        async with _opened(world) as world:
            return await world.resume(
                _id(run), self, approver=approver, observer=observer, take_over=take_over, deps=deps
            )

    async def approve(
        self,
        run: str | Run,
        call: str | None = None,
        *,
        reason: str = "",
        by: str = "",
        world: World | None = None,
        approver: Approver | None = None,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Approve the call with this digest, or all waiting calls, and continue the run.

        Raises NotFoundError: there is no such run, or no such call waits.
        """
        answer = partial(AnswerCall, approved=True, reason=reason, by=by)
        async with _opened(world) as world:
            await _answer(world, run, call, answer)
            return await world.resume(_id(run), self, approver=approver, deps=deps)

    async def deny(
        self,
        run: str | Run,
        call: str | None = None,
        *,
        reason: str = "",
        by: str = "",
        world: World | None = None,
        approver: Approver | None = None,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Deny the call with this digest, or all waiting calls, and continue the run.

        The model reads the ``reason``. Raises NotFoundError as :meth:`approve` does.
        """
        answer = partial(AnswerCall, approved=False, reason=reason, by=by)
        async with _opened(world) as world:
            await _answer(world, run, call, answer)
            return await world.resume(_id(run), self, approver=approver, deps=deps)

    async def cancel(
        self, run: str | Run, reason: str = "", *, world: World | None = None
    ) -> Run[OutputT]:
        """End a run, even in another process; it delivers what exists. Raises NotFoundError."""
        async with _opened(world) as world:
            return await world.cancel(_id(run), reason)

    async def fork(
        self,
        run: str | Run,
        changes: ForkChanges | None = None,
        *,
        world: World | None = None,
        approver: Approver | None = None,
        observer: Observer | None = None,
        new_id: str | None = None,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Start a run with another one's records, and this agent's model, instructions and limits.

        Raises what `World.fork` does.
        """
        async with _opened(world) as world:
            return await world.fork(
                _id(run),
                self,
                changes,
                approver=approver,
                observer=observer,
                new_id=new_id,
                deps=deps,
            )

    def as_tool(self, name: str, description: str, **options: Unpack[ChildOptions]) -> AgentTool:
        """Return the agent as a tool for another one: each call is a separate run.

        The calling model writes the prompt and reads the text. The run is a child of the caller's:
        it is started once, even after a crash, and its usage and cost count for both. Raises
        ToolDefinitionError for an unusable name.

        >>> editor = Agent(model, tools=[writer.as_tool("write", "Write a paragraph.")])
        """
        return agent_tool(self, name, description, options)

    def as_handoff(self, name: str, description: str, **options: Unpack[ChildOptions]) -> AgentTool:
        """Return the agent as a tool that takes over the conversation: ``transfer_to_NAME``.

        The agent reads the conversation so far, and its answer, with its artifacts, is that of the
        calling run. Otherwise it works like :meth:`as_tool`.
        """
        return handoff_tool(self, name, description, options)

    def run_sync(self, prompt: Prompt, **options: Unpack[RunArguments]) -> Run[OutputT]:
        """Run a prompt and wait for its end: :meth:`run` for programs without an event loop.

        Raises AuthorError if an event loop is running, except in a notebook.
        """
        return wait_for(lambda: self.run(prompt, **options), "await agent.run(…)")

    def stream_sync(self, prompt: Prompt, **options: Unpack[StreamArguments]) -> Iterator[RunEvent]:
        """Run a prompt and yield its events, as :meth:`stream` does; leaving early interrupts it.

        >>> for event in agent.stream_sync("Why is the sky blue?"):
        ...     print(event)
        """

        async def events() -> AsyncIterator[RunEvent]:
            async with self.stream(prompt, **options) as stream:
                async for event in stream:
                    yield event

        return iterate(events, "async with agent.stream(…)")

    def follow_up_sync(
        self, run: str | Run, prompt: Prompt, **options: Unpack[FollowUpArguments]
    ) -> Run[OutputT]:
        """Continue a run with another prompt and wait for its end, as :meth:`follow_up` does."""
        return wait_for(lambda: self.follow_up(run, prompt, **options), "await agent.follow_up(…)")

    def resume_sync(self, run: str | Run, **options: Unpack[ResumeArguments]) -> Run[OutputT]:
        """Continue a run and wait for its end, as :meth:`resume` does."""
        return wait_for(lambda: self.resume(run, **options), "await agent.resume(…)")

    def approve_sync(
        self, run: str | Run, call: str | None = None, **options: Unpack[AnswerArguments]
    ) -> Run[OutputT]:
        """Approve a call, continue the run and wait for its end, as :meth:`approve` does."""
        return wait_for(lambda: self.approve(run, call, **options), "await agent.approve(…)")

    def deny_sync(
        self, run: str | Run, call: str | None = None, **options: Unpack[AnswerArguments]
    ) -> Run[OutputT]:
        """Deny a call, continue the run and wait for its end, as :meth:`deny` does."""
        return wait_for(lambda: self.deny(run, call, **options), "await agent.deny(…)")

    def fork_sync(
        self, run: str | Run, changes: ForkChanges | None = None, **options: Unpack[ForkArguments]
    ) -> Run[OutputT]:
        """Start a run with another one's records and wait for its end, as :meth:`fork` does."""
        return wait_for(lambda: self.fork(run, changes, **options), "await agent.fork(…)")

    def cancel_sync(
        self, run: str | Run, reason: str = "", *, world: World | None = None
    ) -> Run[OutputT]:
        """End a run, as :meth:`cancel` does."""
        return wait_for(lambda: self.cancel(run, reason, world=world), "await agent.cancel(…)")


async def _answer(
    world: World, run: str | Run, call: str | None, answer: Callable[..., AnswerCall]
) -> None:
    """Send the answer for one of the calls that wait, or for all."""
    waiting = (await world.get(_id(run))).questions
    chosen = [q for q in waiting if call in (None, q.digest)]
    if not chosen:
        raise _none_waits(_id(run), call)
    for question in chosen:
        await world.send(question.run, answer(call=question.digest).verified())


def _id(run: str | Run) -> str:
    if isinstance(run, str):
        return run
    if not hasattr(run, "id"):
        raise AuthorError(f"{shown(run)} is not a run.", hint="Pass a run or its id.")
    return run.id


def _none_waits(run: str, call: str | None) -> NotFoundError:
    named = "call" if call is None else f"call {call}"
    return NotFoundError(
        f"No {named} of run {run} waits for an answer.",
        hint=f"`artificer show {run}` lists the calls of the run.",
    )


@asynccontextmanager
async def _opened(world: World | None) -> AsyncIterator[World]:
    """Yield the given world, or this project's, opened for the call."""
    if world is not None:
        yield instance("world", world, World, "async with World.open() as world: …")
        return
    async with World.open() as opened:
        yield opened
