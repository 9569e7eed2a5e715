"""The parent spans of a submitted run: its trace continues in the processes that execute it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from artificer.core.spec import RunSpec
from artificer.values.release import RELEASE

_FORMAT = TraceContextTextMapPropagator()
_NAME = "traceparent"


@contextmanager
def submitting(run: str) -> Iterator[str]:
    """Yield the ``traceparent`` (W3C Trace Context) of a span for the submission of a run."""
    tracer, carrier = trace.get_tracer("artificer", RELEASE), dict[str, str]()
    facts = {"gen_ai.conversation.id": run}
    with tracer.start_as_current_span("submit", kind=SpanKind.PRODUCER, attributes=facts):
        _FORMAT.inject(carrier)
        yield carrier.get(_NAME, "")


def traceparent_of(span: Span) -> str:
    """Return the ``traceparent`` of a span, empty for one that is not real."""
    carrier = dict[str, str]()
    _FORMAT.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier.get(_NAME, "")


def parent_of(spec: RunSpec) -> Context | None:
    """Return where the span of a run belongs: None for below the span that is current here."""
    if spec.submission is None or trace.get_current_span().get_span_context().is_valid:
        return None
    return _FORMAT.extract({_NAME: spec.submission.traceparent})
