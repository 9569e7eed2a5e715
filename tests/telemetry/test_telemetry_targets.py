"""The target of a call learns the trace that it belongs to, where it may, and nothing else."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from http_support import answer, serving
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from artificer.backends.http.executor import HttpExecutor
from artificer.backends.mcp.configured import configured
from artificer.backends.mcp.executor import McpExecutor
from artificer.backends.mcp.settings import McpServerConfig
from artificer.errors import ManifestError
from artificer.manifests.model import Manifest
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from artificer.ports.clock import wall_time
from artificer.providers.scripted import call, reply, say
from artificer.runtime.watching.observe import Observer, Observers
from artificer.secrets.resolver import Secrets
from artificer.storage.blobs.memory import MemoryStore
from artificer.telemetry.spans import Telemetry
from artificer.testing.rig import Rig

HEAD = '[tool]\nname = "ask"\nversion = "1"\ndescription = "Ask."\n[args.q]\nrequired = true\n'

STUB = (sys.executable, str(Path(__file__).parents[1] / "backends" / "mcp_stub.py"))


class Traced:
    """A rig whose runs export spans, within the span and the baggage of a program."""

    def __init__(self) -> None:
        self.exporter, self.tracers = InMemorySpanExporter(), TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = Telemetry(tracers=self.tracers)
        self.rig = Rig(observer=Observers(Observer(), self.telemetry))

    async def run(self, tool: str, **arguments: Any) -> list[ReadableSpan]:
        """Let a run call a tool; return its spans of calls, after that of the whole run."""
        token = context.attach(baggage.set_baggage("customer", "ada"))
        try:
            with self.tracers.get_tracer("shop").start_as_current_span("checkout"):
                await self.rig.run([reply(call(tool, **arguments)), say("Done.")])
        finally:
            context.detach(token)
        spans = self.exporter.get_finished_spans()
        order = ("invoke_agent", "execute_tool")
        return [span for name in order for span in spans if span.name.startswith(name)]


def parent(span: ReadableSpan) -> str:
    """The ``traceparent`` of a span."""
    assert span.context is not None
    flags = span.context.trace_flags
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{flags:02x}"


def manifest(url: str, *lines: str) -> Manifest[Any]:
    """A tool that asks a server of this machine."""
    text = f'{HEAD}[http]\nurl = "{url}/{{q}}"\nallow_private = true\n' + "\n".join(lines)
    return parse_manifest(text, "ask.clad.toml")


@pytest.mark.req("telemetry-targets")
@pytest.mark.parametrize("traced", [True, False])
async def test_a_request_names_the_span_of_its_call_only_where_it_may(traced: bool) -> None:
    rig = Traced()
    with serving(answer(200)) as server:
        http = HttpExecutor([manifest(server.url, f"trace = {str(traced).lower()}")])
        rig.rig.tools.add("ask", http.execute)
        run, asked = await rig.run("ask", q="tea")
        (seen,) = server.seen
    names = {name.lower() for name in seen.headers} & {"traceparent", "tracestate", "baggage"}
    assert names & {"traceparent", "tracestate", "baggage"} == (
        {"traceparent"} if traced else set()
    )
    if traced:
        assert seen.headers["traceparent"] == parent(asked)
    assert asked.parent is not None and run.context is not None
    assert asked.parent.span_id == run.context.span_id
    assert dict(asked.attributes or {})["gen_ai.tool.name"] == "ask"
    assert (await rig.rig.replay()).identical


@pytest.mark.req("telemetry-targets")
async def test_without_spans_a_request_names_none() -> None:
    """Nothing is exported; or the tracer of the program is none."""
    with serving(answer(200)) as server:
        http = HttpExecutor([manifest(server.url, "trace = true")])
        for observer in (Observer(), Telemetry(tracers=trace.NoOpTracerProvider())):
            rig = Rig(observer=observer)
            rig.tools.add("ask", http.execute)
            await rig.run([reply(call("ask", q="tea")), say("Done.")])
        assert [seen.headers.get("traceparent") for seen in server.seen] == [None, None]


@pytest.mark.req("telemetry-targets")
async def test_a_trace_does_not_follow_a_redirect_to_another_origin() -> None:
    with (
        serving(answer(200)) as other,
        serving(answer(302, headers={"Location": f"{other.url}/"})) as server,
    ):
        rig = Traced()
        http = HttpExecutor([manifest(server.url, "trace = true")])
        rig.rig.tools.add("ask", http.execute)
        await rig.run("ask", q="tea")
        assert (len(server.seen), other.seen) == (1, [])


@pytest.mark.req("telemetry-targets")
def test_a_header_cannot_be_written_twice() -> None:
    with pytest.raises(ManifestError, match=r"http\.headers\.TraceParent"):
        manifest("http://h", "trace = true", "headers = { TraceParent = 'x' }")
    assert manifest("http://h", "headers = { traceparent = 'x' }")


@pytest.mark.req("telemetry-targets")
async def test_the_span_of_a_call_without_a_result_ends_with_its_run() -> None:
    """As when the process that executes it stops: it is exported, and marked."""
    rig, sent = Traced(), asyncio.Queue[str]()

    async def ask(call: Call) -> str:
        await sent.put(call.monitor.traceparent())
        await asyncio.Event().wait()
        return ""

    rig.rig.tools.add("ask", ask)
    running = asyncio.ensure_future(rig.run("ask"))
    named = await sent.get()
    running.cancel()
    await asyncio.wait((running,))
    spans = {span.name: span for span in rig.exporter.get_finished_spans()}
    asked = spans["execute_tool ask"]
    assert parent(asked) == named
    assert dict(asked.attributes or {})["error.type"] == "unfinished"
    assert rig.telemetry.traceparent("nobody", 1, 0) == ""


@asynccontextmanager
async def mcp_tool(effect: str = "once", **settings: bool) -> AsyncIterator[McpExecutor]:
    """The tool of a server that returns what it finds in ``_meta``."""
    facts: dict[str, Any] = {"effect": effect, "timeout_seconds": 60, **settings}
    stub = McpServerConfig(command=STUB, allow=("meta",), **facts)
    async with configured({"stub": stub}, None, MemoryStore(), wall_time, Secrets(())) as servers:
        (executor,) = await servers.offered()
        yield executor


def found(receipt: Receipt) -> dict[str, Any]:
    """The ``_meta`` that a server has found."""
    meta: dict[str, Any] = json.loads(json.loads(receipt.content)["output"])
    return meta


@pytest.mark.req("telemetry-targets")
@pytest.mark.parametrize("traced", [True, False])
async def test_an_mcp_server_learns_the_trace_of_a_call_only_where_it_may(traced: bool) -> None:
    """The SDK would tell every server the span and the baggage of the program."""
    rig, receipts = Traced(), list[Receipt]()
    token = context.attach(baggage.set_baggage("customer", "ada"))
    with rig.tracers.get_tracer("shop").start_as_current_span("start"):
        async with mcp_tool(trace=traced) as executor:

            async def ask(call: Call) -> Receipt:
                receipts.append(await executor.execute(call))
                return receipts[0]

            rig.rig.tools.add("stub.meta", ask)
            _, asked = await rig.run("stub.meta")
    context.detach(token)
    (receipt,) = receipts
    meta = found(receipt)
    assert meta.pop("others") == [None]
    assert meta == ({"traceparent": parent(asked)} if traced else {})


@pytest.mark.req("mcp-client-fencing")
@pytest.mark.parametrize(
    ("effect", "fencing", "expected"),
    [
        ("once", False, {}),
        ("keyed", False, {"artificer/idempotency-key": "k" * 64}),
        ("once", True, {"artificer/idempotency-key": "k" * 64, "artificer/fencing-token": 7}),
    ],
)
async def test_an_mcp_server_gets_the_key_and_the_token_of_a_call(
    effect: str, fencing: bool, expected: dict[str, Any]
) -> None:
    async with mcp_tool(effect, fencing=fencing) as executor:
        made = Call("r", "c", executor.tools[0], {}, "k" * 64, fencing_token=7)
        meta = found(await executor.execute(made))
    del meta["others"]
    assert meta == expected
