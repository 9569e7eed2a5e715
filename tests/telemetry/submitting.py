"""Submits a run within a span, executes it without one, and prints the spans of both."""

from __future__ import annotations

import asyncio
import json
import sys

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from artificer import Agent, Config, ScriptedProvider, World
from artificer.providers.scripted import say


async def main(enabled: bool) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
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
        print(json.dumps({"recorded": submission.to_json(defaults=False), "spans": spans}))


asyncio.run(main(sys.argv[1] == "enabled"))
