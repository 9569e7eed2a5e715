"""Whether a run is to be told to OpenTelemetry, found out without importing it."""

from __future__ import annotations

import os
import sys

from artificer.errors import MissingExtraError
from artificer.runtime.observe import Both, Observer

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable by which instrumentations are asked for content."""


def telling(observer: Observer, *, enabled: bool | None, content: bool | None) -> Observer:
    """The observer, and OpenTelemetry where it is wanted.

    Without a word about it (None), it is wanted where the program has loaded OpenTelemetry
    already: by itself, or under ``opentelemetry-instrument``.

    Raises:
        MissingExtraError: it is wanted, and not installed.
    """
    if not ("opentelemetry.trace" in sys.modules if enabled is None else enabled):
        return observer
    try:
        from artificer.telemetry.spans import Telemetry
    except ImportError as error:
        raise MissingExtraError("otel", needed_for="[telemetry]") from error
    if content is None:
        content = os.environ.get(CONTENT, "").lower() in ("true", "span_only", "span_and_event")
    return Both(observer, Telemetry(with_content=content))
