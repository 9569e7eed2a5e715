"""Spans of a run, made of what is recorded of it.

A run that is driven is one ``invoke_agent`` span; model requests (``chat``) and tool calls
(``execute_tool``) are its children, each with the times that its receipt states, so several at once
lie side by side. What a fork took over from another run, or an earlier process recorded, was told
when it happened and is not told again.
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
from artificer.core.state import Phase, RunState
from artificer.core.steps import call_of
from artificer.core.transitions import reduce
from artificer.core.window import sent
from artificer.errors import ArtificerError
from artificer.runtime.observe import Observer
from artificer.telemetry import content
from artificer.telemetry.meters import Attributes, Meters
from artificer.values.release import RELEASE

log = logging.getLogger("artificer.telemetry")

_PROVIDERS = {"openai-chat": "openai"}
"""Providers of ours that the conventions know by another name."""


_Timed = (
    ev.ModelResponded | ev.ModelFailed | ev.ToolReturned | ev.ContextCompacted | ev.CompactionFailed
)


@dataclass
class _Watched:
    """A run as far as it is recorded, and its span while it is driven here."""

    state: RunState = field(default_factory=RunState)
    span: Span | None = None
    context: Context | None = None
    opened: int = 0

    def start_of(self, event: _Timed) -> int:
        """When what came to an end had begun; rounding does not put it before its run."""
        return _ns(max(self.opened, event.at - event.duration_ms))


class Telemetry(Observer):
    """Tells the OpenTelemetry API what is recorded; where that goes is for the application to say.

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
        self._runs: dict[str, _Watched] = {}

    def taken_up(self, run: str, state: RunState) -> None:
        """Go on from what was recorded before."""
        self._runs[run] = _Watched(state)

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """Take note of what another run did."""
        if isinstance(line, EventLine):
            watched = self._runs.setdefault(run, _Watched())
            watched.state, _ = reduce(watched.state, line.event)

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Tell what a record means."""
        watched = self._runs.setdefault(run, _Watched())
        try:
            if isinstance(line, EventLine):
                self._event(run, watched, line.event)
            elif isinstance(line.intent, AskApproval) and watched.span:
                facts = _call(line.intent.tool, line.intent.call_id)
                _tell(watched.span, "artificer.approval.asked", watched.state.now, facts)
        except ArtificerError as error:  # a run does not end because it cannot be told
            log.error("a record of run %s cannot be told: %s", run, error.code)

    def rested(self, run: str) -> None:
        """The run is no longer driven here."""
        watched = self._runs.pop(run, None)
        if watched is not None:
            self._close(watched)

    def _event(self, run: str, watched: _Watched, event: ev.Event) -> None:
        before = watched.state
        watched.state, _ = reduce(before, event)
        if watched.span is None:
            self._open(run, watched, event.at)
        match event:
            case ev.ModelResponded() | ev.ModelFailed():
                self._chat(run, watched, before, event)
            case ev.ContextCompacted() | ev.CompactionFailed():
                self._compacted(run, watched, event)
            case ev.ToolReturned():
                self._tool(watched, before, event)
            case ev.CallsJudged() if watched.span:
                _judged(watched.span, event)
            case ev.ApprovalAnswered() if watched.span:
                call = call_of(before, event.intent)
                facts = _call(call.verdict.tool if call.verdict else "", call.id)
                facts["artificer.approval.approved"] = event.approved
                _tell(watched.span, "artificer.approval.answered", event.at, facts)
            case ev.RunFinished():
                self._close(watched)

    # --- spans --------------------------------------------------------------------------------

    def _open(self, run: str, watched: _Watched, at: int) -> None:
        spec = watched.state.given
        name = f"artificer.{spec.kind}"
        watched.span = self._tracer.start_span(
            f"invoke_agent {name}",
            kind=SpanKind.INTERNAL,
            start_time=_ns(at),
            attributes={
                **_operation("invoke_agent", spec),
                "gen_ai.agent.name": name,
                "gen_ai.agent.version": RELEASE,
                "gen_ai.conversation.id": run,
            },
        )
        watched.context = trace.set_span_in_context(watched.span)
        watched.opened = at

    def _close(self, watched: _Watched) -> None:
        if watched.span is None:
            return
        state, span = watched.state, watched.span
        span.set_attribute("artificer.run.phase", state.phase.value)
        if state.status is not None:
            span.set_attribute("artificer.run.status", state.status)
        if state.reason is not None:
            span.set_attribute("artificer.run.reason", state.reason)
        if state.failure is not None and state.phase in (Phase.STALLED, Phase.FINISHED):
            _failed(span, state.failure)
        span.end(_ns(state.now))
        watched.span = watched.context = None

    def _chat(
        self,
        run: str,
        watched: _Watched,
        before: RunState,
        event: ev.ModelResponded | ev.ModelFailed,
    ) -> None:
        request = before.request()
        facts = _operation("chat", before.given)
        span = self._tracer.start_span(
            f"chat {request.model}",
            context=watched.context,
            kind=SpanKind.CLIENT,
            start_time=watched.start_of(event),
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
            span.set_attributes(_asked(before))
        if isinstance(event, ev.ModelFailed):
            _failed(span, event.code)
            facts["error.type"] = event.code
        else:
            facts["gen_ai.response.model"] = event.model or request.model
            span.set_attributes(_responded(event, request.model))
            if self._with_content:
                said = content.output_messages(event.blocks, event.stop)
                span.set_attribute("gen_ai.output.messages", said)
            self._meters.used(event.usage, facts)
        self._meters.took(event.duration_ms, facts)
        span.end(_ns(event.at))

    def _compacted(
        self, run: str, watched: _Watched, event: ev.ContextCompacted | ev.CompactionFailed
    ) -> None:
        """A summary of the conversation, asked of the same model."""
        if not event.attempts:
            return  # nobody was asked
        facts = _operation("chat", watched.state.given)
        span = self._tracer.start_span(
            f"chat {watched.state.given.model}",
            context=watched.context,
            kind=SpanKind.CLIENT,
            start_time=watched.start_of(event),
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

    def _tool(self, watched: _Watched, before: RunState, event: ev.ToolReturned) -> None:
        call = call_of(before, event.intent)
        name = call.verdict.tool if call.verdict else ""
        tool = before.given.tools().get(name)
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
        if self._with_content:
            facts["gen_ai.tool.call.arguments"] = (call.verdict and call.verdict.arguments) or "{}"
            facts["gen_ai.tool.call.result"] = event.content
        span = self._tracer.start_span(
            f"execute_tool {name}",
            context=watched.context,
            kind=SpanKind.INTERNAL,
            start_time=watched.start_of(event),
            attributes=facts,
        )
        if event.status != "ok":
            _failed(span, event.status)
        span.end(_ns(event.at))


def _operation(name: str, spec: RunSpec) -> Attributes:
    return {
        "gen_ai.operation.name": name,
        "gen_ai.provider.name": _PROVIDERS.get(spec.provider, spec.provider),
        "gen_ai.request.model": spec.model,
    }


def _call(tool: str, call_id: str) -> Attributes:
    return {"gen_ai.tool.name": tool, "gen_ai.tool.call.id": call_id}


def _asked(state: RunState) -> Attributes:
    """What a model was sent."""
    asked: Attributes = {
        "gen_ai.input.messages": content.input_messages(sent(state.history, state.window))
    }
    if state.given.system:
        asked["gen_ai.system_instructions"] = content.system_instructions(state.given)
    if state.given.tools().tools:
        asked["gen_ai.tool.definitions"] = content.tool_definitions(state.given)
    return asked


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
    """Calls that the gate stopped have no span of their own: nothing was executed."""
    for verdict in event.verdicts:
        if verdict.verdict not in ("allow", "ask"):
            facts = _call(verdict.tool, verdict.call_id)
            facts |= {"artificer.verdict": verdict.verdict, "artificer.rule": verdict.rule}
            _tell(span, "artificer.call.refused", event.at, facts)


def _tell(span: Span, name: str, at: int, facts: Attributes) -> None:
    span.add_event(name, facts, timestamp=_ns(at))


def _failed(span: Span, what: str) -> None:
    span.set_attribute("error.type", what)
    span.set_status(StatusCode.ERROR)


def _ns(ms: int) -> int:
    return ms * 1_000_000
