"""A provider's report about a request, compared with what is possible.

A budget that believes every report is void where a server reports nothing, and locked for a day
where it reports nonsense. So a count that cannot be true gives way to our own; every other report
counts in full, also above what was reserved for the request (invariant 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from artificer.values.blocks import Block
from artificer.values.model import Usage
from artificer.values.tokens import tokens_of

OVERHEAD_TOKENS = 20_000
"""Tokens that a provider may add to what it is sent: its chat template, its words about tools."""


def counted(
    reported: Usage,
    *,
    estimate: int,
    sent: Callable[[], bytes],
    blocks: Sequence[Block],
    longest: int,
    attached: int = 0,
) -> Usage:
    """Return the usage that counts: the report, with our own counts where it cannot be true.

    ``estimate`` is what we took the request for, in tokens; ``sent`` returns its body, and is asked
    only about a report that is not within the estimate. ``blocks`` is the reply, ``longest`` the
    most tokens that it was allowed. A token is at least one byte of what was sent, and a reply that
    says something took at least one token. The cached and written parts of the input cannot be more
    than the input. ``attached`` is our estimate of the tokens of attachments, whose bytes are not
    in the body.
    """
    input_tokens = reported.input_tokens
    if not 0 < input_tokens <= estimate:
        body = sent()
        if not 0 < input_tokens <= len(body) + attached + OVERHEAD_TOKENS:
            input_tokens = tokens_of(body) + attached
    output_tokens, least = reported.output_tokens, 1 if blocks else 0
    if not least <= output_tokens <= longest:
        wrote = sum(tokens_of(block.identity()) for block in blocks)
        if not least <= output_tokens <= wrote:
            output_tokens = wrote
    parts = (reported.cached_tokens, reported.written_tokens)
    if min(parts) < 0 or sum(parts) > input_tokens:
        parts = (0, 0)
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=parts[0],
        written_tokens=parts[1],
        reasoning_tokens=min(max(reported.reasoning_tokens, 0), output_tokens),
    )
