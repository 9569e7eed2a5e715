"""One program that is spoken to line by line, and the limits of the conversation."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

from artificer.contracts.evidence import MAX_EVIDENCE, Stream
from artificer.contracts.keys.manifest import ToolKeys
from artificer.contracts.keys.session import SessionKeys
from artificer.contracts.session.envelope import SessionEnvelope, SessionOutcome
from artificer.contracts.session.line import matches
from artificer.contracts.session.terminal_text import last_line, plain, without_echo
from artificer.ports import BlobStore, Receipt
from artificer.tools.capture import Capture
from artificer.tools.sandbox.confinement import Confinement
from artificer.tools.terminal import SETTLE, Terminal
from artificer.values.blocks import CallStatus
from artificer.values.text import head_and_tail

INTERRUPT = b"\x03"
"""What Ctrl-C sends: the terminal makes a SIGINT of it."""

INTERRUPT_GRACE = 1.0
"""Seconds in which an interrupted program must come back to its prompt."""


@dataclass(frozen=True)
class Program:
    """What is started, and the rules of the conversation with it."""

    tool: ToolKeys
    keys: SessionKeys
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    confine: Callable[[], Confinement]
    """What holds it. Raises OSError when there is no such program."""


class _Pause(Enum):
    """Why a program fell silent."""

    READY = "at its prompt"
    ASKING = "in an unfinished line that is not its prompt"
    ENDED = "it has ended"


@dataclass
class _Said:
    """What an interaction brought, on its way to an envelope."""

    outcome: SessionOutcome = "success"
    fault: str | None = None
    line: str | None = None
    output: Capture | None = None
    before: str = ""
    started: bool = False
    ready: bool = False


class Conversation:
    """The interactions of one run with one program, one at a time.

    A program that ended is told of once, and started again by the call after that. The limits of
    time and number hold for all of it together.
    """

    def __init__(self, program: Program, blobs: BlobStore | None) -> None:
        self._program = program
        self._blobs = blobs
        self._lock = asyncio.Lock()
        self._terminal: Terminal | None = None
        self._guard: asyncio.Task[None] | None = None
        self._lost: str | None = None
        self._count = 0
        self._began: float | None = None
        self._used = 0.0

    def lose(self, reason: str) -> None:
        """Say that the program is gone, and why: the next call will be told."""
        self._lost = reason

    async def say(self, tool: str, line: str) -> Receipt:
        """Send one line, and wait until the program has answered it."""
        began = time.monotonic()
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        async with self._lock:
            said = _Said()
            try:
                await self._interact(line, said)
            except BaseException:  # most of all a cancellation: what it will say is nobody's now
                await self._end_program()
                raise
            finally:
                self._used = time.monotonic()
            count = self._count
        envelope = await self._envelope(said, tool=tool, timestamp=timestamp, count=count)
        duration = round((time.monotonic() - began) * 1000)
        envelope = envelope.model_copy(update={"duration_ms": duration})
        return Receipt(
            status=_STATUS[envelope.status],
            content=envelope.to_content(),
            evidence=envelope.to_text(),
        )

    async def end(self) -> None:
        """End the program with all that it started."""
        await self._end_program()

    # --- one interaction ----------------------------------------------------------------------

    async def _interact(self, line: str, said: _Said) -> None:
        refusal = self._refusal()
        if refusal is not None:
            said.outcome, said.fault = "error", f"Not sent: {refusal}"
            return
        self._count += 1
        if self._terminal is None and not await self._start(said):
            return
        terminal = self._terminal
        if terminal is None:
            return
        if not said.started:
            said.before = self._text(terminal.take_output())
        said.line = line
        try:
            async with asyncio.timeout(self._program.tool.timeout_seconds):
                await terminal.send(line.encode() + b"\n")
                pause = await self._pause(terminal, asking=True)
        except TimeoutError:
            pause = await self._interrupt(terminal, said)
        except OSError:
            pause = _Pause.ENDED
        said.ready = pause is _Pause.READY
        if pause is _Pause.ASKING:
            said.fault = "It has not come back to its prompt: it may want more input."
        if pause is _Pause.ENDED:
            await self._bury(terminal, said)
        else:
            said.output = terminal.take_output()

    def _refusal(self) -> str | None:
        """Why nothing can be sent now."""
        keys = self._program.keys
        if self._count >= keys.max_interactions:
            return f"this run has used all {keys.max_interactions} interactions of the session."
        seconds = keys.session_timeout_seconds
        if self._began is not None and time.monotonic() - self._began >= seconds:
            return f"the session's {seconds} s in this run are over."
        if self._lost is not None:
            reason, self._lost = self._lost, None
            return f"the session is lost: {reason}. The next call starts a new one, from nothing."
        return None

    async def _start(self, said: _Said) -> bool:
        """Start the program and wait for its prompt; False, with a fault, when that fails."""
        program = self._program
        said.started = True
        try:
            terminal = Terminal.start(
                program.argv,
                env=program.env,
                cwd=program.cwd,
                limits=program.tool.limits,
                confinement=program.confine(),
            )
        except OSError as error:
            said.outcome = "error"
            said.fault = f"{program.argv[0]} could not be started: {error.strerror or error}"
            return False
        self._terminal = terminal
        self._began = self._began or time.monotonic()
        seconds = program.keys.startup_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                pause = await self._pause(terminal, asking=False)
        except TimeoutError:
            said.outcome, said.fault = "timeout", f"Not sent: no prompt within {seconds} s."
            await self._end_program()
            said.output = terminal.take_output()
            return False
        if pause is _Pause.ENDED:
            await self._bury(terminal, said)
            said.outcome, said.fault = "error", f"Not sent: {said.fault}"
            return False
        terminal.take_output()  # a greeting
        self._guard = asyncio.create_task(self._watch(terminal))
        return True

    async def _pause(self, terminal: Terminal, *, asking: bool) -> _Pause:
        """Wait until the program is silent, for a reason.

        With ``asking``, an unfinished line that stands for a while is a reason too.
        """
        pattern = self._program.keys.ready_pattern
        wait = self._program.keys.interaction.output_wait_ms / 1000
        silence: float | None = SETTLE if pattern else wait
        while not terminal.has_ended:
            if not await terminal.is_silent(silence):
                silence = SETTLE if pattern else wait
                continue
            last = last_line(plain(terminal.last))
            if not pattern or matches(pattern, last):
                return _Pause.READY
            if last and asking and silence == wait:
                return _Pause.ASKING
            silence = wait if last and asking else None
        await terminal.drain()
        return _Pause.ENDED

    async def _interrupt(self, terminal: Terminal, said: _Said) -> _Pause:
        """Ask a program that takes too long to stop what it does; end it if it does not."""
        seconds = self._program.tool.timeout_seconds
        said.outcome = "timeout"
        said.fault = f"Interrupted after {seconds} s; the session goes on."
        try:
            async with asyncio.timeout(INTERRUPT_GRACE):
                await terminal.send(INTERRUPT)
                pause = await self._pause(terminal, asking=False)
        except (TimeoutError, OSError):
            pause = _Pause.ENDED
            said.fault = f"No answer within {seconds} s, nor to an interrupt."
        return pause

    async def _bury(self, terminal: Terminal, said: _Said) -> None:
        """Tell how the program ended, and end what is left of it."""
        ours = self._terminal is None  # the guard ended it: its time was up
        await self._end_program()
        await terminal.end()
        said.output = terminal.take_output()
        code = terminal.exit_code
        if said.outcome == "timeout":
            said.fault = f"{said.fault} The program was ended; the next call starts it again."
        elif ours:
            said.outcome, self._lost = "error", None
            said.fault = f"Ended: {self._program.keys.session_timeout_seconds} s are over."
        else:
            said.outcome = "success" if code == 0 else "error"
            said.fault = f"The program has ended ({_told(code)}); the next call starts it again."

    # --- its life -----------------------------------------------------------------------------

    async def _watch(self, terminal: Terminal) -> None:
        """End the program when it is not used, or its time is up; note when it has ended."""
        keys = self._program.keys
        over = (self._began or 0) + keys.session_timeout_seconds
        while True:
            now, busy = time.monotonic(), self._lock.locked()
            idle = (
                now + keys.idle_timeout_seconds if busy else self._used + keys.idle_timeout_seconds
            )
            if now >= min(over, idle):
                break
            await asyncio.wait([terminal.exit], timeout=min(over, idle) - now)
            if terminal.exit.done():
                if self._lock.locked():
                    return  # the interaction under way will tell
                self._lost = "it ended between two calls"
                break
        if self._lost is None:
            self._lost = "it was ended, for nobody used it" if now < over else "its time was up"
        self._terminal = None
        await terminal.end()

    async def _end_program(self) -> None:
        terminal, self._terminal = self._terminal, None
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.cancel()
            await asyncio.wait([guard])
        if terminal is not None:
            await terminal.end()

    # --- telling ------------------------------------------------------------------------------

    def _text(self, capture: Capture) -> str:
        """What a program wrote, without its prompt."""
        text = plain(capture.stream().text.encode())
        pattern = self._program.keys.ready_pattern
        if pattern and matches(pattern, last_line(text)):
            text = text[: len(text) - len(last_line(text))]
        return text.strip("\n")

    async def _envelope(
        self, said: _Said, *, tool: str, timestamp: str, count: int
    ) -> SessionEnvelope:
        output, digest, blob = Stream(), None, None
        if said.output is not None:
            most = self._program.keys.interaction.output_max_bytes
            text = without_echo(self._text(said.output), said.line or "")
            kept = head_and_tail(text, most)
            truncated = said.output.stream().truncated or len(text) > most
            output = Stream(text=kept, size=said.output.size, truncated=truncated)
            digest = said.output.digest
            if self._blobs is not None and len(kept) > MAX_EVIDENCE:
                blob = await asyncio.to_thread(self._blobs.put, kept.encode("utf-8", "replace"))
        return SessionEnvelope(
            status=said.outcome,
            tool=tool,
            program=self._program.argv,
            line=said.line,
            output=output,
            output_hash=digest,
            blob=blob,
            before=head_and_tail(said.before, MAX_EVIDENCE),
            started=said.started,
            ready=said.ready,
            interaction=count,
            timestamp=timestamp,
            fault=said.fault,
        )


def _told(code: int | None) -> str:
    if code is None:
        return "it let go of its terminal"
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


_STATUS: dict[SessionOutcome, CallStatus] = {
    "success": "ok",
    "error": "error",
    "timeout": "timeout",
}
