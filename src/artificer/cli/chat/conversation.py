"""A conversation: the run that it is, and how each prompt continues it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from artificer.agent import Agent
from artificer.cli.chat.printer import ReplyPrinter
from artificer.cli.chat.reasoning import ReasoningPrinter
from artificer.cli.terminal.approver import approver_for, user_name
from artificer.cli.terminal.console import complain, note
from artificer.cli.terminal.screen import Screen
from artificer.core.signals import Cancel, FollowUp
from artificer.ports import Attachment
from artificer.runs import Run
from artificer.runtime.fork import ForkChanges
from artificer.wiring.providers import each_model
from artificer.world import World


class TerminalChat:
    """One run after another: a prompt starts or continues it, another model forks it."""

    def __init__(self, world: World, agent: Agent, run: Run | None = None) -> None:
        self.world = world
        self.run = run
        self.attachments: list[Attachment] = []
        """Attached to the next message."""
        self._agent = agent
        self._switched = False
        self._printer = ReplyPrinter()
        self._approver = approver_for(Screen())

    @property
    def model(self) -> str:
        """The model that answers next."""
        if self.run is not None and not self._switched:
            return self.run.state.run_spec.full_name
        models = each_model(self._agent.model or self.world.config.model)
        first = models[0] if models else "no model"
        return first if isinstance(first, str) else first.name

    @property
    def reasoning(self) -> ReasoningPrinter:
        """The printer of the model's reasoning."""
        return self._printer.reasoning

    def use(self, model: str | tuple[str, ...]) -> None:
        """Switch to another model, or to a list of models with fallbacks."""
        self._agent = replace(self._agent, model=model)
        self._switched = self.run is not None

    async def say(self, text: str) -> Run:
        """Send a prompt, print the reply as it forms, and return the run.

        What is attached goes with it, and stays attached if it cannot be sent.
        """
        if self.run is None:
            run_id = self.world.clock.new_run_id()
            begun = await self._reply(
                run_id,
                self.world.run(
                    [text, *self.attachments],
                    self._agent,
                    approver=self._approver,
                    observer=self._printer,
                    run_id=run_id,
                ),
            )
            self.attachments.clear()
            return begun
        if self._switched:
            return await self._fork(self.run.id, text)
        message = FollowUp(by=user_name(), text=text).verified()
        agent = replace(self._agent, model=None)
        attachments = tuple(self.attachments)
        await self.world.send(self.run.id, message, attachments=attachments, agent=agent)
        self.attachments.clear()
        return await self.resume(self.run.id)

    async def resume(self, run_id: str) -> Run:
        """Continue a run, print the reply as it forms, and return the run."""
        return await self._reply(
            run_id,
            self.world.resume(
                run_id,
                replace(self._agent, model=None),
                approver=self._approver,
                observer=self._printer,
            ),
        )

    async def _fork(self, origin: str, text: str) -> Run:
        new_id = self.world.clock.new_run_id()
        run = await self._reply(
            new_id,
            self.world.fork(
                origin,
                self._agent,
                ForkChanges(steer=text, attachments=tuple(self.attachments)),
                approver=self._approver,
                observer=self._printer,
                new_id=new_id,
            ),
        )
        self._switched = False
        self.attachments.clear()
        return run

    async def _reply(self, run_id: str, work: Awaitable[Run]) -> Run:
        """Let a run continue. Ctrl-C cancels the reply, and keeps the conversation."""
        self._printer.begin(run_id)
        with self._cancelled_by_ctrl_c(run_id):
            try:
                self.run = await work
            finally:
                self._printer.end()
        self._report(self.run)
        return self.run

    @contextmanager
    def _cancelled_by_ctrl_c(self, run_id: str) -> Iterator[None]:
        """Cancel the reply at the first Ctrl-C; the second one leaves the chat."""
        if threading.current_thread() is not threading.main_thread():  # it gets no signals
            yield
            return
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        sent: list[asyncio.Task[int]] = []

        def interrupt() -> None:
            if sent and task is not None:
                task.cancel()
                return
            cancel = Cancel(by=user_name(), reason="Interrupted in the chat.")
            sent.append(asyncio.create_task(self.world.send(run_id, cancel)))

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _report(self, run: Run) -> None:
        """Report a reply that did not end."""
        match run.status:
            case "completed":
                pass
            case "cancelled":
                note("interrupted", "dim")
            case "waiting":
                for question in run.questions:
                    note(f"waits for your answer: {question.tool} {question.arguments}")
                note(f"answer with: artificer approve {run.id}, then type /retry")
            case "stalled" | "open" | "paused":
                self._report_failure(run)
            case status:
                delivered = run.deliverable
                note(f"{status}: {delivered.note}" if delivered and delivered.note else status)

    def _report_failure(self, run: Run) -> None:
        failure = self._printer.failure
        why = failure.message if failure else f"The run is {run.status}."
        complain(why, "/retry asks again, /model asks another model.")
