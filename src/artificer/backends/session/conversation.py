"""A conversation with a program, line by line, and its limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from artificer.backends.deadline import Deadline
from artificer.backends.process.confinement import Confinement
from artificer.backends.receipts import Began, Now, status_of, timestamp_of
from artificer.backends.session.interaction import InteractionResult, ending, spoken
from artificer.backends.session.pause import Silence, next_pause
from artificer.backends.session.spec.commands import SessionCommand, SessionContract
from artificer.backends.session.spec.envelope import SessionEnvelope
from artificer.backends.session.spec.events import EventQueue
from artificer.backends.session.spec.keys import SessionKeys
from artificer.backends.session.spec.prompts import Prompts, Seat
from artificer.backends.session.spec.terminal_text import last_line, plain
from artificer.backends.session.terminal import Terminal
from artificer.backends.session.usage_limits import UsageLimiter
from artificer.contracts.evidence import MAX_EVIDENCE
from artificer.manifests.keys import ToolKeys
from artificer.ports import BlobStore, Receipt
from artificer.system.tasks import shielded

INTERRUPT = b"\x03"
"""The byte that Ctrl-C sends; the terminal turns it into a SIGINT."""

INTERRUPT_GRACE = 1.0
"""Seconds in which an interrupted program must come back to its prompt."""


@dataclass(frozen=True)
class Program:
    """A program to start, and the rules of the conversation with it and its child session."""

    tool: ToolKeys
    keys: SessionKeys
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    confine: Callable[[], Confinement]
    """The confinement of the program. Raises OSError if the program does not exist."""
    child: SessionContract | None = None

    def prompts(self) -> Prompts:
        """The prompts to look for."""
        detection = self.keys.child_detection
        if self.child is None or detection is None:
            return Prompts(self.keys.ready_pattern)
        return Prompts(self.keys.ready_pattern, self.child.session.ready_pattern, detection.pattern)


class Conversation:
    """The interactions of one run with one program, one at a time.

    The end of a program is reported once; the call after that starts it again. The limits of
    time and number hold for all of it together.
    """

    def __init__(self, program: Program, blobs: BlobStore | None, now: Now) -> None:
        self.lock: Path | None = None
        self.tenure = UsageLimiter("session", "from nothing", program.keys)
        self._program = program
        self._blobs = blobs
        self._now = now
        self._prompts = program.prompts()
        self._terminal: Terminal | None = None
        self._guards: list[asyncio.Task[None]] = []
        self._prompt = ""
        self._events: EventQueue | None = None
        if program.keys.events is not None and program.keys.events.enabled:
            seen = [p for p in (self._prompts.own, self._prompts.child) if p]
            self._events = EventQueue(program.keys.events, seen, self._prompts.opens)

    async def say(self, command: SessionCommand, line: str, deadline: Deadline) -> Receipt:
        """Send one line, and wait until the program has answered it, or the call's time is up."""
        began, result, before = Began.at(self._now), InteractionResult(), self._prompt
        async with self.tenure.turn(self.end):
            await self._interact(command, line, result, deadline)
            count = self.tenure.count
        envelope = SessionEnvelope(
            status=result.outcome,
            tool=command.definition.name,
            program=self._program.argv,
            timestamp=began.timestamp,
            is_news=result.started or result.prompt != before,
            interaction=count,
        )
        envelope = result.put_into(
            envelope, self._prompts, self._program.keys.interaction.output_max_bytes
        )
        blob = await self._kept(envelope.output.text)
        envelope = envelope.replace(blob=blob, duration_ms=began.duration_ms)
        return Receipt(
            status=status_of(envelope.status),
            content=envelope.to_content(),
            evidence=envelope.to_text(),
        )

    async def end(self) -> None:
        """End the program with all that it started. A cancellation takes effect after that."""
        terminal, self._terminal = self._terminal, None
        guards, self._guards = self._guards, []
        await shielded(self._end(terminal, guards))

    async def _end(self, terminal: Terminal | None, mine: list[asyncio.Task[None]]) -> None:
        for guard in mine:
            guard.cancel()
        if mine:
            await asyncio.wait(mine)
        if terminal is not None:
            await terminal.end()

    async def _kept(self, text: str) -> str | None:
        """Keep output that is longer than an envelope holds, or all of it where that is wanted."""
        capture = self._program.tool.evidence.capture and text
        if self._blobs is None or not (capture or len(text) > MAX_EVIDENCE):
            return None
        return await asyncio.to_thread(self._blobs.put, text.encode("utf-8", "replace"))

    # --- one interaction ----------------------------------------------------------------------

    async def _interact(
        self, command: SessionCommand, line: str, result: InteractionResult, deadline: Deadline
    ) -> None:
        refusal = self.tenure.refusal()
        if refusal is None and self._terminal is None and command.seat is Seat.CHILD:
            refusal = self._wrong_seat()
        if refusal is not None:
            result.outcome, result.fault = "error", f"Not sent: {refusal}"
            return
        if deadline.is_over:
            result.outcome, result.fault = "timeout", "Not sent: its time was up before its turn."
            return
        if self._terminal is None and not await self._start(result, deadline):
            self.tenure.count += 1
            return
        terminal = self._terminal
        if terminal is None:
            return
        if not result.started:
            self._note_between(terminal, result)
        if command.seat is not self._prompts.seat:
            result.outcome, result.fault = "error", f"Not sent: {self._wrong_seat()}"
            self._note_prompt(terminal, result, ready=True)
            return
        self.tenure.count += 1
        await self._send(terminal, line, result, deadline.within(command.seconds))

    async def _send(
        self, terminal: Terminal, line: str, result: InteractionResult, seconds: float
    ) -> None:
        result.line = line
        try:
            async with asyncio.timeout(seconds):
                await terminal.send(line.encode() + b"\n")
                pause = await self._pause(terminal, asking=True)
        except TimeoutError:
            pause = await self._interrupt(terminal, seconds, result)
        except OSError:
            pause = Silence.ENDED
        if pause is Silence.ASKING:
            result.fault = "It has not come back to its prompt: it may want more input."
        if pause is Silence.ENDED:
            await self._bury(terminal, result)
        else:
            self._note_prompt(terminal, result, ready=pause is Silence.READY)
            result.output = terminal.take_output()

    async def _pause(self, terminal: Terminal, *, asking: bool) -> Silence:
        wait = self._program.keys.interaction.output_wait_ms / 1000
        return await next_pause(terminal, self._prompts, wait, asking=asking)

    async def _start(self, result: InteractionResult, deadline: Deadline) -> bool:
        """Start the program and wait for its prompt; False, with a fault, when that fails."""
        program = self._program
        result.started = True
        self._prompts.restart()
        try:
            terminal = Terminal.start(
                program.argv,
                env=program.env,
                cwd=program.cwd,
                limits=program.tool.limits,
                confinement=program.confine(),
                lock=self.lock,
            )
        except OSError as error:
            result.outcome = "error"
            result.fault = f"{program.argv[0]} could not be started: {error.strerror or error}"
            return False
        self._terminal = terminal
        self.tenure.begin()
        seconds = deadline.within(program.keys.startup_timeout_seconds)
        try:
            async with asyncio.timeout(seconds):
                pause = await self._pause(terminal, asking=False)
        except TimeoutError:
            result.outcome, result.fault = "timeout", f"Not sent: no prompt within {seconds:g} s."
            await self.end()
            result.output = terminal.take_output()
            return False
        if pause is Silence.ENDED:
            await self._bury(terminal, result)
            result.outcome, result.fault = "error", f"Not sent: {result.fault}"
            return False
        terminal.take_output()  # a greeting
        self._guards = [asyncio.create_task(self._watch(terminal))]
        if self._events is not None:
            self._guards.append(asyncio.create_task(self._listen(terminal, self._events)))
        return True

    async def _interrupt(
        self, terminal: Terminal, seconds: float, result: InteractionResult
    ) -> Silence:
        """Ask a program that takes too long to stop what it does; end it if it does not."""
        result.outcome = "timeout"
        result.fault = f"Interrupted after {seconds:g} s; the session goes on."
        try:
            async with asyncio.timeout(INTERRUPT_GRACE):
                await terminal.send(INTERRUPT)
                return await self._pause(terminal, asking=False)
        except (TimeoutError, OSError):
            result.fault = f"No answer within {seconds:g} s, nor to an interrupt."
            return Silence.ENDED

    async def _bury(self, terminal: Terminal, result: InteractionResult) -> None:
        """Report how the program ended, and end what is left of it."""
        ours = self._terminal is None  # the guard ended it: its time was up
        await self.end()
        await terminal.end()
        result.output = terminal.take_output()
        code = terminal.exit_code
        if result.outcome == "timeout":
            result.fault = f"{result.fault} The program was ended; the next call starts it again."
        elif ours:
            result.outcome, self.tenure.lost = "error", None
            result.fault = f"Ended: {self._program.keys.session_timeout_seconds} s are over."
        else:
            result.outcome = "success" if code == 0 else "error"
            result.fault = f"The program has ended ({ending(code)}); the next call starts it again."

    # --- whose turn it is ---------------------------------------------------------------------

    def _note_prompt(self, terminal: Terminal, result: InteractionResult, *, ready: bool) -> None:
        result.ready = ready
        if ready and self._program.keys.ready_pattern:
            last = last_line(plain(terminal.last))
            result.prompt = self._prompt = last or self._prompt
        detection = self._program.keys.child_detection
        if detection is not None and self._prompts.seat is Seat.CHILD:
            result.child = detection.type

    def _wrong_seat(self) -> str:
        """Why a line would be read by someone else than it is for."""
        name, detection = self._program.tool.name, self._program.keys.child_detection
        kind = detection.type if detection else "child"
        if self._prompts.seat is Seat.CHILD:
            return f"the {kind} session is open: use {name}.child.*, or leave it with one of them."
        return f"no {kind} session is open: one of {name}'s commands has to open it."

    # --- between two calls --------------------------------------------------------------------

    def _note_between(self, terminal: Terminal, result: InteractionResult) -> None:
        """Note the program's output since the last answer."""
        terminal.listen()
        if self._events is None:
            result.before = spoken(terminal.take_output(), self._prompts)
            return
        self._receive(terminal, self._events)
        result.events, result.events_lost = self._events.drain(
            now=time.monotonic(), timestamp=timestamp_of(self._now())
        )

    def _receive(self, terminal: Terminal, events: EventQueue) -> None:
        last, text = terminal.last, terminal.take_output().stream().text
        self._prompts.read(plain(text.encode()))
        self._prompts.take(last_line(plain(last)))
        events.read(text, now=time.monotonic(), timestamp=timestamp_of(self._now()))

    async def _listen(self, terminal: Terminal, events: EventQueue) -> None:
        """Read, now and then, a program's output between two calls."""
        while not terminal.has_ended:
            await asyncio.sleep(events.poll_seconds)
            if not self.tenure.is_busy:
                self._receive(terminal, events)

    async def _watch(self, terminal: Terminal) -> None:
        """End the program when it is not used, or its time is up; note when it has ended."""
        why = await self.tenure.expired(terminal.exit)
        if why is None and self.tenure.is_busy:
            return  # the interaction in progress will tell
        self.tenure.lost = "it ended between two calls" if why is None else f"it was ended: {why}"
        self._terminal = None
        await shielded(terminal.end())
