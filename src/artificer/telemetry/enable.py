"""Deciding whether a run is exported to OpenTelemetry, without importing it."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext

from artificer.errors import MissingExtraError
from artificer.runtime.watching.observe import Observer, Observers

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable that enables content in instrumentations."""


def with_telemetry(observer: Observer, *, enabled: bool | None, content: bool | None) -> Observer:
    """Return the observer, combined with an OpenTelemetry exporter if that is enabled.

    Without a setting (None), it is enabled if the program has set up OpenTelemetry: directly, or
    through ``opentelemetry-instrument``. Other libraries load its API and export nothing.

    Raises:
        MissingExtraError: it is enabled, but not installed.
    """
    if not (_is_on(enabled) and (enabled or _is_set_up())):
        return observer
    try:
        from artificer.telemetry.spans import Telemetry
    except ImportError as error:
        raise MissingExtraError("otel", needed_for="[telemetry]") from error
    if content is None:
        content = os.environ.get(CONTENT, "").lower() in ("true", "span_only", "span_and_event")
    return Observers(observer, Telemetry(with_content=content))


def submission_span(run: str, *, enabled: bool | None) -> AbstractContextManager[str]:
    """Return a span for the submission of a run, which yields its ``traceparent``.

    It is empty if nothing is exported.

    Raises:
        MissingExtraError: it is enabled, but not installed.
    """
    if not _is_on(enabled):
        return nullcontext("")
    try:
        from artificer.telemetry.parents import submitting
    except ImportError as error:
        raise MissingExtraError("otel", needed_for="[telemetry]") from error
    return submitting(run)


def _is_on(enabled: bool | None) -> bool:
    return "opentelemetry.trace" in sys.modules if enabled is None else enabled


def _is_set_up() -> bool:
    """Whether spans or metrics go anywhere: the providers of the API itself drop them."""
    from opentelemetry import metrics, trace

    providers = (trace.get_tracer_provider(), metrics.get_meter_provider())
    own = (trace.__name__, metrics.__name__)
    return not all(type(provider).__module__.startswith(own) for provider in providers)
