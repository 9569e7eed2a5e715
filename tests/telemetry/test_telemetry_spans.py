"""Spans and metrics of real runs, caught in memory and held against the conventions."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind, StatusCode
from pytest_genai_semconv.assertions import assert_genai_span_compliant

from artificer.core import events as ev
from artificer.core.policy import Policy, Rule
from artificer.core.signals import FollowUp
from artificer.ports import Answer, Call, Question, Receipt
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.fork import ForkChanges, origin_of, plan_fork
from artificer.runtime.load import load
from artificer.runtime.watching.observe import Observer
from artificer.telemetry.spans import Telemetry
from artificer.testing.rig import Rig
from artificer.values.blocks import TextBlock
from artificer.values.model import ModelFailure, ModelReply, Usage

SECRET = "the words of a person"


class Person:
    async def ask(self, question: Question) -> Answer:
        return Answer(False, by="alice")


class Bench:
    """A rig whose runs are told to exporters in memory."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader])
        self.options = options
        self.rig = Rig(approver=Person(), observer=self.telemetry())

        async def work(call: Call) -> str:
            return f"{SECRET}: {call.arguments}"

        async def broken(call: Call) -> Receipt:
            return Receipt(status="error", content=SECRET)

        self.rig.tools.add("work", work)
        self.rig.tools.add("broken", broken)

    def telemetry(self) -> Telemetry:
        return Telemetry(tracers=self.tracers, meters=self.meters, **self.options)

    async def run(self, *script: Any, **facts: Any) -> list[ReadableSpan]:
        await self.rig.run([*script], prompt=SECRET, **facts)
        return self.spans()

    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        assert data is not None
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
        return [p for m in metrics if m.name == name for p in m.data.data_points]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def named(spans: list[ReadableSpan], prefix: str) -> list[ReadableSpan]:
    return [span for span in spans if span.name.startswith(prefix)]


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


FULL = ModelReply(
    blocks=(TextBlock(text=SECRET),),
    stop="end_turn",
    usage=Usage(input_tokens=100, output_tokens=20, cached_tokens=60, reasoning_tokens=7),
    model="claude-real",
    response_id="msg_1",
)

MANY = (
    reply(call("work", n=1), call("broken", n=2), call("nothing"), call("ask")),
    reply(call("work", n=3)),
    FULL,
)


def known(module: ModuleType) -> set[str]:
    return {
        value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)
    }


@pytest.mark.req("telemetry-conventions")
class TestConventions:
    async def test_every_span_and_attribute_is_one_of_the_conventions(self, bench: Bench) -> None:
        bench.options = {"with_content": True}
        bench.rig.observer = bench.telemetry()
        spans = await bench.run(*MANY, provider="anthropic", model="claude", temperature="0.5")
        names = known(gen_ai_attributes) | known(error_attributes)
        deprecated = {"gen_ai.system", "gen_ai.prompt", "gen_ai.completion"}
        assert {s.name.split()[0] for s in spans} == {"invoke_agent", "chat", "execute_tool"}
        for span in spans:
            assert_genai_span_compliant(span)
            for name in facts(span):
                assert name.startswith("artificer.") or name in names - deprecated, name

    async def test_a_model_request(self, bench: Bench) -> None:
        (chat,) = named(await bench.run(FULL, model="claude", provider="anthropic"), "chat")
        assert (chat.name, chat.kind, chat.status.status_code) == (
            "chat claude",
            SpanKind.CLIENT,
            StatusCode.UNSET,
        )
        wanted = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.conversation.id": "run",
            "gen_ai.request.model": "claude",
            "gen_ai.request.max_tokens": 4096,
            "gen_ai.response.model": "claude-real",
            "gen_ai.response.id": "msg_1",
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 20,
            "gen_ai.usage.cache_read.input_tokens": 60,
            "gen_ai.usage.reasoning.output_tokens": 7,
        }
        assert wanted.items() <= facts(chat).items()

    async def test_a_request_that_fails(self, bench: Bench) -> None:
        failure = ModelFailure(code="rate_limited", message=SECRET, attempts=3)
        spans = await bench.run(failure)
        (chat,), (run,) = named(spans, "chat"), named(spans, "invoke_agent")
        assert facts(chat)["error.type"] == facts(run)["error.type"] == "rate_limited"
        assert chat.status.status_code is run.status.status_code is StatusCode.ERROR
        assert facts(chat)["artificer.attempts"] == 3
        assert facts(run)["artificer.run.phase"] == "stalled"

    async def test_tool_calls(self, bench: Bench) -> None:
        tools = named(await bench.run(*MANY), "execute_tool")
        assert [t.name for t in tools] == [
            "execute_tool work",
            "execute_tool broken",
            "execute_tool work",
        ]
        good, bad, _ = tools
        assert (good.kind, good.status.status_code) == (SpanKind.INTERNAL, StatusCode.UNSET)
        assert facts(good)["gen_ai.tool.call.id"] == "call_1_0"
        assert facts(good)["gen_ai.tool.type"] == "function"
        assert facts(good)["artificer.tool.effect"] == "pure"
        assert (facts(bad)["error.type"], bad.status.status_code) == ("error", StatusCode.ERROR)

    async def test_metrics(self, bench: Bench) -> None:
        await bench.run(say("x"), provider="openai-chat", model="m")
        await bench.rig.run([ModelFailure(code="timeout", message="")], run="other")
        tokens = bench.points(gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE)
        durations = bench.points(gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)
        used = {p.attributes["gen_ai.token.type"]: p.sum for p in tokens}
        assert used == {"input": 10, "output": 5}
        assert {p.attributes["gen_ai.provider.name"] for p in tokens} == {"openai"}
        assert {p.attributes.get("error.type") for p in durations} == {None, "timeout"}
        for point in (*tokens, *durations):
            assert point.attributes["gen_ai.operation.name"] == "chat"
            assert set(point.attributes) <= known(gen_ai_attributes) | {"error.type"}


@pytest.mark.req("telemetry-structure")
class TestStructure:
    async def test_a_run_is_the_parent_of_what_it_does(self, bench: Bench) -> None:
        spans = await bench.run(*MANY)
        (run,) = named(spans, "invoke_agent")
        assert run.parent is None
        assert facts(run)["artificer.run.status"] == "completed"
        assert facts(run)["gen_ai.agent.name"] == "artificer.chat"
        assert run.context is not None
        for span in spans:
            if span is not run:
                assert span.parent is not None and span.parent.span_id == run.context.span_id
                assert run.start_time <= span.start_time <= span.end_time <= run.end_time  # type: ignore[operator]

    async def test_times_are_those_of_the_receipts(self, bench: Bench) -> None:
        spans = await bench.run(*MANY)
        events = await bench.rig.events()
        receipts = [e for e in events if isinstance(e, ev.ToolReturned | ev.ModelResponded)]
        (run,) = named(spans, "invoke_agent")
        told = [s for s in spans if s is not run]
        assert sorted((s.start_time, s.end_time) for s in told) == sorted(  # type: ignore[type-var]
            (max(run.start_time or 0, (e.at - e.duration_ms) * 10**6), e.at * 10**6)
            for e in receipts
        )

    async def test_calls_at_once_lie_side_by_side(self, bench: Bench) -> None:
        gates = {n: asyncio.Event() for n in (1, 2)}

        async def crossing(call: Call) -> str:
            """The first ends after the second has."""
            n = call.arguments["n"]
            if n == 1:
                await gates[2].wait()
            gates[2].set()
            return str(n)

        bench.rig.tools.add("crossing", crossing)
        spans = await bench.run(reply(call("crossing", n=1), call("crossing", n=2)), say("."))
        tools = named(spans, "execute_tool crossing")
        assert {facts(t)["gen_ai.tool.call.id"] for t in tools} == {"call_1_0", "call_1_1"}
        assert len({t.parent.span_id for t in tools if t.parent}) == 1
        by_id = {facts(t)["gen_ai.tool.call.id"]: t for t in tools}
        assert by_id["call_1_1"].end_time <= by_id["call_1_0"].end_time  # type: ignore[operator]

    async def test_it_lies_in_the_span_of_the_caller(self, bench: Bench) -> None:
        tracer = bench.tracers.get_tracer("app")
        with tracer.start_as_current_span("request") as outer:
            spans = await bench.run(say("x"))
        (run,) = named(spans, "invoke_agent")
        assert run.parent is not None and run.parent.span_id == outer.get_span_context().span_id

    async def test_refusals_and_approvals_are_events(self, bench: Bench) -> None:
        policy = Policy(rules=(Rule(tool="work", decision="ask", name="costs"),))
        script = (reply(call("work"), call("nothing")), say("."))
        (run,) = named(await bench.run(*script, policy=policy), "invoke_agent")
        told = [(e.name, dict(e.attributes or {})) for e in run.events]
        assert [name for name, _ in told] == [
            "artificer.call.refused",
            "artificer.approval.asked",
            "artificer.approval.answered",
        ]
        assert told[0][1]["artificer.verdict"] == "unknown_tool"
        assert told[2][1] == {
            "gen_ai.tool.name": "work",
            "gen_ai.tool.call.id": "call_1_0",
            "artificer.approval.approved": False,
        }

    async def test_a_run_that_is_taken_up_tells_only_what_is_new(self, bench: Bench) -> None:
        await bench.run(reply(call("work")), ModelFailure(code="timeout", message=""))
        before = len(bench.spans())
        bench.rig.observer = bench.telemetry()
        await bench.rig.resume([say("Done.")])
        names = [s.name for s in bench.spans()[before:]]
        assert names == ["chat m", "invoke_agent artificer.chat"]
        first, second = named(bench.spans(), "invoke_agent")
        assert facts(first)["gen_ai.conversation.id"] == facts(second)["gen_ai.conversation.id"]
        resumed = next(e for e in await bench.rig.events() if isinstance(e, ev.RunResumed))
        assert second.start_time == resumed.at * 10**6

    async def test_a_finished_run_that_goes_on_has_another_span(self, bench: Bench) -> None:
        await bench.run(say("First."))
        await bench.rig.signals.post("run", FollowUp(text="And?").canonical())
        bench.rig.observer = bench.telemetry()
        await bench.rig.resume([say("Second.")])
        names = ["chat m", "invoke_agent artificer.chat"]
        assert [s.name for s in bench.spans()] == names * 2
        assert {facts(s)["artificer.run.status"] for s in bench.spans()[1::2]} == {"completed"}

    async def test_a_run_that_is_only_written_is_not_executed(self, bench: Bench) -> None:
        await bench.run(say("First."))
        before = bench.spans()
        bench.rig.observer = bench.telemetry()
        engine = bench.rig.engine(ScriptedProvider([]))
        await engine.record_pruning("run", "Ada", "Old.")
        assert bench.spans() == before

    async def test_a_fork_tells_only_what_is_its_own(self, bench: Bench) -> None:
        await bench.run(reply(call("work")), say("Read."))
        before = await load(bench.rig.journal, bench.rig.blobs, "run")
        spec = before.state.run_spec
        plan = plan_fork(before.lines, ForkChanges(steer="More."), spec)
        origin = await origin_of(bench.rig.journal, "run", plan, spec, spec)
        forked = ev.RunForked(at=bench.rig.clock.now(), origin=origin, steer="More.")
        bench.exporter.clear()
        bench.rig.observer = bench.telemetry()
        engine = bench.rig.engine(ScriptedProvider([say("More.")]))
        await engine.fork("fork", plan.facts, forked)
        assert [s.name for s in bench.spans()] == ["chat m", "invoke_agent artificer.chat"]
        assert bench.spans()[1].start_time == forked.at * 10**6

    async def test_what_is_told_changes_nothing_of_the_run(self, bench: Bench) -> None:
        await bench.run(*MANY)
        plain = Bench()
        plain.rig.observer = Observer()
        await plain.run(*MANY)
        assert [type(e) for e in await bench.rig.events()] == [
            type(e) for e in await plain.rig.events()
        ]
        assert (await bench.rig.replay()).identical


def texts(spans: list[ReadableSpan]) -> Iterator[str]:
    for span in spans:
        yield span.to_json()


@pytest.mark.req("telemetry-content")
class TestContent:
    async def test_no_content_unless_it_is_asked_for(self, bench: Bench) -> None:
        failing = ModelFailure(code="bad_request", message=SECRET)
        spans = await bench.run(*MANY[:2], failing, system=SECRET)
        assert len(spans) > 4
        assert not [text for text in texts(spans) if SECRET in text]

    async def test_with_content_it_is_in_the_conventions_form(self) -> None:
        bench = Bench(with_content=True)
        spans = await bench.run(reply(call("work", n=1)), FULL, system="Be brief.")
        first, second = named(spans, "chat")
        (tool,) = named(spans, "execute_tool")
        assert json.loads(facts(first)["gen_ai.system_instructions"]) == [
            {"type": "text", "content": "Be brief."}
        ]
        assert json.loads(facts(first)["gen_ai.output.messages"])[0]["finish_reason"] == "tool_call"
        messages = json.loads(facts(second)["gen_ai.input.messages"])
        assert [m["role"] for m in messages] == ["user", "assistant", "tool"]
        assert messages[1]["parts"] == [
            {"type": "tool_call", "id": "call_1_0", "name": "work", "arguments": '{"n": 1}'}
        ]
        assert messages[2]["parts"][0]["type"] == "tool_call_response"
        assert facts(tool)["gen_ai.tool.call.arguments"] == '{"n":1}'
        assert SECRET in facts(tool)["gen_ai.tool.call.result"]
        assert json.loads(facts(first)["gen_ai.tool.definitions"])[0]["name"] == "work"


WANTED = """
import asyncio, sys
{before}
from artificer.agent import Agent
from artificer.config import load_config
from artificer.providers.scripted import ScriptedProvider, say
from artificer.world import World

async def main():
    async with World.in_memory(load_config()) as world:
        run = await world.run("x", Agent(model=ScriptedProvider([say("hello you")]), kind="chat"))
        assert run.status == "completed"

asyncio.run(main())
{after}
"""

CONSOLE = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
trace.set_tracer_provider(provider)
"""


@pytest.mark.req("telemetry-settings")
class TestSettings:
    def python(self, folder: Path, code: str, settings: str = "", **env: str) -> str:
        (folder / "artificer.toml").write_text(settings, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env={"ARTIFICER_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", **env},
            check=True,
            capture_output=True,
            timeout=120,
        )
        return done.stdout.decode()

    def test_a_program_that_does_not_use_it_does_not_load_it(self, tmp_path: Path) -> None:
        after = "assert not [m for m in sys.modules if m.startswith('opentelemetry')]"
        self.python(tmp_path, WANTED.format(before="", after=after))

    def test_a_program_whose_libraries_load_it_exports_nothing(self, tmp_path: Path) -> None:
        """Other libraries load the API; without a provider spans would be made for nobody."""
        before = "from opentelemetry import trace"
        after = "assert 'artificer.telemetry.spans' not in sys.modules"
        self.python(tmp_path, WANTED.format(before=before, after=after))

    def test_a_program_that_uses_it_is_told_without_a_setting(self, tmp_path: Path) -> None:
        code = WANTED.format(before=CONSOLE, after="")
        told = self.python(tmp_path, code)
        assert '"invoke_agent artificer.chat"' in told
        assert "hello you" not in told
        off = self.python(tmp_path, code, "[telemetry]\nenabled = false\n")
        assert "invoke_agent" not in off

    def test_content_is_asked_for_by_setting_or_variable(self, tmp_path: Path) -> None:
        code = WANTED.format(before=CONSOLE, after="")
        variable = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
        assert "hello you" in self.python(tmp_path, code, "[telemetry]\ncontent = true\n")
        assert "hello you" in self.python(tmp_path, code, **variable)
        no = "[telemetry]\ncontent = false\n"
        assert "hello you" not in self.python(tmp_path, code, no, **variable)
