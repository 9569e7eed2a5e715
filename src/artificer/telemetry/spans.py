"""Spans of a run, made from its records.

A run that is being executed is one ``invoke_agent`` span. Model requests (``chat``) and tool calls
(``execute_tool``) are its children, with the times in their receipts, so that parallel ones
overlap. Records that a fork copied, or that an earlier process wrote, were exported when they
happened and are not exported again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode

from artificer.core import events as ev
from artificer.core.intents import AskApproval
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import RunSpec
from artificer.core.state import CallState, RunPhase, RunState
from artificer.core.steps import call_of
from artificer.core.transitions import reduce
from artificer.core.window import sent
from artificer.errors import ArtificerError
from artificer.runtime.watching.observe import Observer
from artificer.telemetry import content
from artificer.telemetry.meters import Attributes, Meters
from artificer.telemetry.parents import parent_of, traceparent_of
from artificer.values.release import RELEASE

log = logging.getLogger("artificer.telemetry")

_PROVIDERS = {"openai-chat": "openai"}
"""Our provider names that the conventions spell differently."""


_Timed = (
    ev.ModelResponded | ev.ModelFailed | ev.ToolReturned | ev.ContextCompacted | ev.CompactionFailed
)


@dataclass
class _TracedRun:
    """A run's state so far, and its span while this process executes it."""

    state: RunState = field(default_factory=RunState)
    span: Span | None = None
    context: Context | None = None
    opened: int = 0
    calls: dict[int, tuple[Span, int]] = field(default_factory=dict)
    """The calls in progress with a started span, with its time, by the numbers of their intents."""

    def start_of(self, event: _Timed) -> int:
        """Return when the operation of an event began, not before the run's own span."""
        return _ns(max(self.opened, event.at - event.duration_ms))


class Telemetry(Observer):
    """Exports records through the OpenTelemetry API. The application chooses the exporter.

    With ``with_content``, spans hold conversations, arguments and results too.
    """

    def __init__(
        self,
        *,
        with_content: bool = False,
        tracers: trace.TracerProvider | None = None,
        meters: metrics.MeterProvider | None = None,
    ) -> None:
        self._with_content = with_content
        self._tracer = trace.get_tracer("artificer", RELEASE, tracers)
        self._meters = Meters(metrics.get_meter("artificer", RELEASE, meters))
        self._runs: dict[str, _TracedRun] = {}

    def resumed(self, run: str, state: RunState) -> None:
        """Continue from the records of an earlier process."""
        self._runs[run] = _TracedRun(state)

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """Follow a record copied from another run, without exporting it."""
        if isinstance(line, EventLine):
            traced = self._runs.setdefault(run, _TracedRun())
            traced.state, _ = reduce(traced.state, line.event)

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Export a record."""
        traced = self._runs.setdefault(run, _TracedRun())
        try:
            if isinstance(line, EventLine):
                self._event(run, traced, line.event)
            elif isinstance(line.intent, AskApproval) and traced.span:
                facts = _call(line.intent.tool, line.intent.call_id)
                _add_event(traced.span, "artificer.approval.asked", traced.state.now, facts)
        except ArtificerError as error:  # a failed export must not end the run
            log.error("a record of run %s cannot be exported: %s", run, error.code)

    def traceparent(self, run: str, intent: int, at: int) -> str:
        """Begin the span of a call before its receipt: its target will name it as a parent."""
        traced = self._runs.get(run)
        if traced is None or traced.span is None:
            return ""
        if intent not in traced.calls:
            try:
                call = call_of(traced.state, intent)
            except ArtificerError:  # a call that is not in the records has no span
                return ""
            at = max(traced.opened, at)
            traced.calls[intent] = self._begin_call(traced, call, _ns(at)), at
        return traceparent_of(traced.calls[intent][0])

    def idle(self, run: str) -> None:
        """Close the run's span: this process no longer executes it."""
        traced = self._runs.pop(run, None)
        if traced is not None:
            self._close(traced)

    def _event(self, run: str, traced: _TracedRun, event: ev.Event) -> None:
        before = traced.state
        traced.state, _ = reduce(before, event)
        if traced.span is None and not _is_written_only(event):
            self._open(run, traced, event.at)
        match event:
            case ev.ModelResponded() | ev.ModelFailed():
                self._chat(run, traced, before, event)
            case ev.ContextCompacted() | ev.CompactionFailed():
                self._compacted(run, traced, before, event)
            case ev.ToolReturned():
                self._tool(traced, before, event)
            case ev.CallsJudged() if traced.span:
                _judged(traced.span, event)
            case ev.ApprovalAnswered() if traced.span:
                call = call_of(before, event.intent)
                facts = _call(call.verdict.tool if call.verdict else "", call.id)
                facts["artificer.approval.approved"] = event.approved
                _add_event(traced.span, "artificer.approval.answered", event.at, facts)
            case ev.RunFinished():
                self._close(traced)

    # --- spans --------------------------------------------------------------------------------

    def _open(self, run: str, traced: _TracedRun, at: int) -> None:
        spec = traced.state.run_spec
        name = f"artificer.{spec.kind}"
        traced.span = self._tracer.start_span(
            f"invoke_agent {name}",
            context=parent_of(spec),
            kind=SpanKind.INTERNAL,
            start_time=_ns(at),
            attributes={
                **_operation("invoke_agent", spec),
                "gen_ai.agent.name": name,
                "gen_ai.agent.version": RELEASE,
                "gen_ai.conversation.id": run,
            },
        )
        traced.context = trace.set_span_in_context(traced.span)
        traced.opened = at

    def _close(self, traced: _TracedRun) -> None:
        if traced.span is None:
            return
        state, span = traced.state, traced.span
        for call, began in traced.calls.values():  # without a receipt: nobody knows its end
            _failed(call, "unfinished")
            call.end(_ns(max(began, state.now)))
        traced.calls.clear()
        span.set_attribute("artificer.run.phase", state.phase.value)
        if state.status is not None:
            span.set_attribute("artificer.run.status", state.status)
        if state.reason is not None:
            span.set_attribute("artificer.run.reason", state.reason)
        if state.failure is not None and state.phase in (RunPhase.STALLED, RunPhase.FINISHED):
            _failed(span, state.failure)
        span.end(_ns(state.now))
        traced.span = traced.context = None

    def _chat(
        self,
        run: str,
        traced: _TracedRun,
        before: RunState,
        event: ev.ModelResponded | ev.ModelFailed,
    ) -> None:
        request = before.request()
        facts = _operation("chat", before.run_spec)
        span = self._tracer.start_span(
            f"chat {request.model}",
            context=traced.context,
            kind=SpanKind.CLIENT,
            start_time=traced.start_of(event),
            attributes={
                **facts,
                "gen_ai.conversation.id": run,
                "gen_ai.request.max_tokens": request.max_tokens,
                "artificer.turn": before.turn,
                "artificer.attempts": event.attempts,
            },
        )
        if request.temperature is not None:
            span.set_attribute("gen_ai.request.temperature", request.temperature)
        if self._with_content:
            span.set_attributes(_request_attributes(before))
        if isinstance(event, ev.ModelFailed):
            _failed(span, event.code)
            facts["error.type"] = event.code
        else:
            facts["gen_ai.response.model"] = event.model or request.model
            span.set_attributes(_responded(event, request.model))
            if self._with_content:
                text = content.output_messages(event.blocks, event.stop)
                span.set_attribute("gen_ai.output.messages", text)
            self._meters.used(event.usage, facts)
        self._meters.took(event.duration_ms, facts)
        span.end(_ns(event.at))

    def _compacted(
        self,
        run: str,
        traced: _TracedRun,
        before: RunState,
        event: ev.ContextCompacted | ev.CompactionFailed,
    ) -> None:
        """Export a summary of the conversation, requested from the same model."""
        if not event.attempts:
            return  # no request was sent
        facts = _operation("chat", before.run_spec)
        span = self._tracer.start_span(
            f"chat {before.run_spec.model}",
            context=traced.context,
            kind=SpanKind.CLIENT,
            start_time=traced.start_of(event),
            attributes={
                **facts,
                "gen_ai.conversation.id": run,
                "gen_ai.usage.input_tokens": event.usage.input_tokens,
                "gen_ai.usage.output_tokens": event.usage.output_tokens,
                "artificer.compaction.upto": event.upto,
            },
        )
        if isinstance(event, ev.CompactionFailed):
            _failed(span, event.code)
        self._meters.used(event.usage, facts)
        self._meters.took(event.duration_ms, facts)
        span.end(_ns(event.at))

    def _tool(self, traced: _TracedRun, before: RunState, event: ev.ToolReturned) -> None:
        call = call_of(before, event.intent)
        span, began = traced.calls.pop(event.intent, (None, event.at))
        span = span or self._begin_call(traced, call, traced.start_of(event))
        if self._with_content:
            arguments = (call.verdict and call.verdict.arguments) or "{}"
            span.set_attribute("gen_ai.tool.call.arguments", arguments)
            span.set_attribute("gen_ai.tool.call.result", event.content)
        if event.status != "ok":
            _failed(span, event.status)
        span.end(_ns(max(began, event.at)))

    def _begin_call(self, traced: _TracedRun, call: CallState, start: int) -> Span:
        name = call.verdict.tool if call.verdict else ""
        tool = traced.state.run_spec.tool(name)
        facts: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            **_call(name, call.id),
            "gen_ai.tool.type": "function",
        }
        if tool is not None:
            facts |= {
                "gen_ai.tool.description": tool.description,
                "artificer.tool.backend": tool.backend,
                "artificer.tool.effect": tool.effect,
            }
        return self._tracer.start_span(
            f"execute_tool {name}",
            context=traced.context,
            kind=SpanKind.INTERNAL,
            start_time=start,
            attributes=facts,
        )


def _operation(name: str, spec: RunSpec) -> Attributes:
    return {
        "gen_ai.operation.name": name,
        "gen_ai.provider.name": _PROVIDERS.get(spec.provider, spec.provider),
        "gen_ai.request.model": spec.model,
    }


def _call(tool: str, call_id: str) -> Attributes:
    return {"gen_ai.tool.name": tool, "gen_ai.tool.call.id": call_id}


def _request_attributes(state: RunState) -> Attributes:
    """Return the attributes of a request, with its content."""
    request: Attributes = {
        "gen_ai.input.messages": content.input_messages(sent(state.history, state.window))
    }
    if state.run_spec.system:
        request["gen_ai.system_instructions"] = content.system_instructions(state.run_spec)
    if state.run_spec.tools().tools:
        request["gen_ai.tool.definitions"] = content.tool_definitions(state.run_spec)
    return request


def _responded(event: ev.ModelResponded, model: str) -> Attributes:
    usage = event.usage
    facts: Attributes = {
        "gen_ai.response.model": event.model or model,
        "gen_ai.response.finish_reasons": [content.FINISH_REASONS[event.stop]],
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    if event.response_id:
        facts["gen_ai.response.id"] = event.response_id
    if event.cost_micros is not None:
        facts["artificer.cost_micros"] = event.cost_micros
    return facts


def _judged(span: Span, event: ev.CallsJudged) -> None:
    """Export refused calls as span events: nothing was executed, so they have no span."""
    for verdict in event.verdicts:
        if verdict.verdict not in ("allow", "ask"):
            facts = _call(verdict.tool, verdict.call_id)
            facts |= {"artificer.verdict": verdict.verdict, "artificer.rule": verdict.rule}
            _add_event(span, "artificer.call.refused", event.at, facts)


def _add_event(span: Span, name: str, at: int, facts: Attributes) -> None:
    span.add_event(name, facts, timestamp=_ns(at))


def _failed(span: Span, what: str) -> None:
    span.set_attribute("error.type", what)
    span.set_status(StatusCode.ERROR)


def _is_written_only(event: ev.Event) -> bool:
    """Whether an event is also recorded by who does not execute the run, and begins nothing."""
    if isinstance(event, ev.PromptReceived):
        return event.spec.submission is not None
    return isinstance(event, (ev.ChecklistTicked, ev.RunPruned))


def _ns(ms: int) -> int:
    return ms * 1_000_000
