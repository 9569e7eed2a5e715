"""Submits a run within a span, executes it without one, and prints the spans of both."""

from __future__ import annotations

import asyncio
import json
import sys

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from artificer import Agent, Config, ScriptedProvider, World
from artificer.providers.scripted import say


class Started(SpanProcessor):
    """Keeps the names of the spans that were started."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.names.append(span.name)


async def main(enabled: bool) -> None:
    exporter, provider, started = InMemorySpanExporter(), TracerProvider(), Started()
    provider.add_span_processor(started)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    config = Config(telemetry={"enabled": enabled})
    providers = [ScriptedProvider([say("Hello.")])]
    async with World.in_memory(config, providers=providers) as world:
        agent = Agent("scripted/m", kind="chat")
        with trace.get_tracer("shop").start_as_current_span("checkout"):
            run = await world.submit("Hi", agent)
        await world.resume(run, agent)
        submission = (await world.get(run)).state.run_spec.submission
        assert submission is not None
        spans = [
            (
                span.name,
                f"{span.context.trace_id:032x}",
                f"{span.context.span_id:016x}",
                f"{span.parent.span_id:016x}" if span.parent else "",
            )
            for span in exporter.get_finished_spans()
            if span.context is not None
        ]
        recorded = submission.to_json(defaults=False)
        print(json.dumps({"recorded": recorded, "spans": spans, "started": started.names}))


asyncio.run(main(sys.argv[1] == "enabled"))
