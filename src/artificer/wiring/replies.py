"""The limit on the length of a run's replies, if the run itself sets none."""

from __future__ import annotations

from artificer.config import Config
from artificer.core.kinds import KINDS, RunKind
from artificer.core.spec import Limits
from artificer.providers.longest_reply import UNKNOWN, longest_reply

SHARE = 8
"""A reply reserves at most this part of a budget: one request must not use up what many share."""


def max_tokens_of(kind: RunKind, model: str, limits: Limits, config: Config) -> int:
    """The longest reply in tokens: as configured, else as long as the kind needs and all allow.

    What is configured is cut to what the model can write, where that is known.
    """
    known = longest_reply_of(model, config)
    configured = config.limits.max_tokens_of(kind)
    if configured is not None:
        return configured if known is None else min(configured, known)
    longest = min(KINDS[kind].max_tokens, known or UNKNOWN)
    return max(min(longest, UNKNOWN), min([longest, *_shares(kind, model, limits, config)]))


def longest_reply_of(model: str, config: Config) -> int | None:
    """Return the longest reply of a ``provider/model`` in tokens, or None if it is not known."""
    return config.limits.longest_reply_of(model) or longest_reply(model)


def continuations_of(kind: RunKind, model: str) -> int:
    """How often a report that was cut off is continued.

    A reply of the embedded model that runs to its limit is repeating itself.
    """
    return 0 if model.startswith("local/") else KINDS[kind].continuations


def _shares(kind: RunKind, model: str, limits: Limits, config: Config) -> list[int]:
    """The tokens that a share of each budget buys. A run's own limits shorten its replies."""
    day = config.budget.day
    tokens, micros = [day.tokens], [day.micros]
    if kind == "build":
        tokens.append(limits.total_tokens)
        micros.append(limits.cost_micros)
    price = config.price_of(model)
    shares = [limit // SHARE for limit in tokens if limit is not None]
    if price is not None and price.output:
        bought = (limit * 1_000_000 // price.output for limit in micros if limit is not None)
        shares += [limit // SHARE for limit in bought]
    return shares
