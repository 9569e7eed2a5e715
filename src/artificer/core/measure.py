"""How many tokens a conversation takes: what its provider counted, and estimates of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from artificer.core.rules import since
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.window import Window
from artificer.values.blocks import Message
from artificer.values.model import Usage
from artificer.values.tokens import MAX_BYTES_A_TOKEN, tokens_of


def context_after(spec: RunSpec, usage: Usage, reply: Message) -> int:
    """Return the tokens of a conversation that ends with a reply, by what its provider counted.

    A count of the reply that its text and calls cannot fit in is not believed: servers report
    nothing, or less than they sent, and the next request would be too long. Our own estimate then
    counts for the reply. Its reasoning proves nothing, because it may be encrypted.
    """
    output = usage.output_tokens
    if since(spec, 2) and output * MAX_BYTES_A_TOKEN < _written(reply):
        output = message_tokens(reply)
    return usage.input_tokens + output


def _written(reply: Message) -> int:
    """The bytes of a reply's text and calls."""
    written = len(reply.text.encode())
    for call in reply.calls:
        written += len(call.name.encode()) + len(call.arguments.encode())
    return written


class Sizes(Struct, frozen=True):
    """Estimates of the tokens of requests.

    ``newest`` are those of so many of the last messages. What the provider has counted of the
    ``present`` request corrects the estimate of its parts.
    """

    fixed: int
    newest: Sequence[int]
    messages: int
    counted: int
    present: int

    def since(self, start: int, more: int = 0) -> int:
        """The tokens of a request whose window begins there, with ``more`` in its opening."""
        return self.scaled(self.fixed + self.newest[self.messages - start] + more)

    def scaled(self, tokens: int) -> int:
        """Return an estimate of tokens as the provider would count them."""
        if not self.present:
            return tokens
        return -(-tokens * min(self.counted, self.present) // self.present)


def sizes_of(state: RunState) -> Sizes:
    """Measure a conversation: each message once, for it is long when this is asked."""
    spec, first = state.run_spec, state.window.start
    fixed = spec.fixed_tokens
    measured = (message_tokens(message) for message in reversed(state.history[first:]))
    newest = list(accumulate(measured, initial=0))
    present = fixed + opening_tokens(state, state.window) + newest[-1]
    return Sizes(fixed, newest, len(state.history), state.context_tokens, present)


def opening_tokens(state: RunState, window: Window) -> int:
    """Estimate the tokens of what is sent instead of the messages before a window."""
    attached = state.history[0].attachments if window.start else ()
    return tokens_of(window.opening.encode()) + sum([block.tokens for block in attached])


def message_tokens(message: Message) -> int:
    """Estimate the tokens of a message."""
    return tokens_of(message.identity()) + message.attached_tokens
