"""The metrics of the GenAI conventions for clients."""

from __future__ import annotations

from opentelemetry.metrics import Meter
from opentelemetry.util.types import AttributeValue

from artificer.values.model import Usage

Attributes = dict[str, AttributeValue]

_TOKENS = [4**n for n in range(14)]
_SECONDS = [0.01 * 2**n for n in range(14)]
"""Bucket boundaries, as specified by the conventions."""


class Meters:
    """Counters of tokens and histograms of durations."""

    def __init__(self, meter: Meter) -> None:
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )

    def used(self, usage: Usage, attributes: Attributes) -> None:
        """Count the tokens of one reply."""
        for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            self._tokens.record(tokens, {**attributes, "gen_ai.token.type": kind})

    def took(self, duration_ms: int, attributes: Attributes) -> None:
        """Count the time of one operation."""
        self._duration.record(duration_ms / 1000, attributes)
