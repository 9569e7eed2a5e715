"""Budgets: what the next reply may cost at most is reserved before it is asked for (invariant 7).

A reservation is made of what is known (the last reply's own token counts) and an estimate on the
safe side of what has been added since. It bounds the reply itself: the nearer the limit, the
shorter a reply is asked for.
"""

from __future__ import annotations

from artificer.core.intents import FinishReason
from artificer.core.price import Price
from artificer.core.spec import RunSpec
from artificer.values.model import Usage

SHORTEST_REPLY = 256
"""A reply of fewer tokens is not worth asking for, unless the run wants no longer ones."""


def max_price(price: Price, tokens: int, reply: int = 0) -> int:
    """Return the highest price of a request of so many tokens, with a reply of so many."""
    usage = Usage(input_tokens=tokens, output_tokens=reply)
    kept = usage.replace(written_tokens=tokens)
    return max(price.highest(usage), price.highest(kept))


def reply_tokens(spec: RunSpec, spent: Usage, cost: int, context: int) -> int | FinishReason:
    """Return how long the next reply may be, or the limit that leaves no room for one.

    ``spent`` and ``cost`` are what the run has used so far, ``context`` the tokens of the next
    request.
    """
    limits, price = spec.limits, spec.price
    longest = limits.max_tokens
    least = min(SHORTEST_REPLY, longest)
    if limits.context_tokens is not None:  # a provider counts the reply as part of it
        longest = max(least, min(longest, limits.context_tokens - context))
    if limits.total_tokens is not None:
        used = spent.input_tokens + spent.output_tokens + context
        longest = min(longest, limits.total_tokens - used)
        if longest < least:
            return "token_limit"
    if limits.cost_micros is not None and price is not None:
        left = limits.cost_micros - cost - max_price(price, context)
        if left < 0:
            return "cost_limit"
        if output := price.highest_output(context):
            longest = min(longest, left * 1_000_000 // output)
        if longest < least:
            return "cost_limit"
    return longest
