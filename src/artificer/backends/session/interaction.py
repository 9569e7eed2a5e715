"""The result of one interaction with a program, on its way to an envelope."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from artificer.backends.process.capture import Capture
from artificer.backends.session.spec.envelope import SessionEnvelope, SessionOutcome
from artificer.backends.session.spec.events import SessionEvent
from artificer.backends.session.spec.prompts import Prompts
from artificer.backends.session.spec.terminal_text import last_line, plain, without_echo
from artificer.contracts.evidence import MAX_EVIDENCE, Stream
from artificer.values.text import head_and_tail


@dataclass
class InteractionResult:
    """``output`` is None as long as nothing was sent."""

    outcome: SessionOutcome = "success"
    fault: str | None = None
    line: str | None = None
    output: Capture | None = None
    before: str = ""
    events: tuple[SessionEvent, ...] = ()
    events_lost: int = 0
    started: bool = False
    ready: bool = False
    prompt: str = ""
    child: str = ""

    def put_into(self, envelope: SessionEnvelope, prompts: Prompts, limit: int) -> SessionEnvelope:
        """The envelope with all this, and with ``limit`` characters of the output."""
        output, digest = Stream(), None
        if self.output is not None:
            text = without_echo(spoken(self.output, prompts), self.line or "")
            kept = head_and_tail(text, limit)
            cut = self.output.stream().truncated or len(text) > limit
            output = Stream(text=kept, size=self.output.size, truncated=cut)
            digest = self.output.digest
        return envelope.replace(
            status=self.outcome,
            line=self.line,
            output=output,
            output_hash=digest,
            before=head_and_tail(self.before, MAX_EVIDENCE),
            events=self.events,
            events_lost=self.events_lost,
            started=self.started,
            ready=self.ready,
            prompt=self.prompt,
            child=self.child,
            fault=self.fault,
        )


def spoken(capture: Capture, prompts: Prompts) -> str:
    """Return a program's output without its prompt."""
    text = plain(capture.stream().text.encode())
    last = last_line(text)
    if prompts.is_prompt(last):
        text = text[: len(text) - len(last)]
    return text.strip("\n")


def ending(code: int | None) -> str:
    """How a program ended, in words."""
    if code is None:
        return "it let go of its terminal"
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
