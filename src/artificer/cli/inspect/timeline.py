"""A run's records as lines of text, for ``artificer show``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from artificer.builds.summary import happened, job_in_words
from artificer.cli.terminal.console import one_line
from artificer.cli.terminal.words import cost, count, duration, joined, problem_text
from artificer.core import events as ev
from artificer.core.attachments import described
from artificer.core.intents import (
    AdvanceBuild,
    AskApproval,
    CallTool,
    Compact,
    Finish,
    Generate,
    Intent,
)
from artificer.core.record import EventLine, IntentLine
from artificer.core.sources import label_in
from artificer.core.verdict import Verdict
from artificer.runtime.proving.bindings import binding_in
from artificer.values.blocks import Block, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from artificer.values.failure_words import FAILURES
from artificer.values.text import clip

DETAIL = 160
"""Characters of a text or of arguments that are shown."""

KEY = 8
"""Characters of a key that are shown: enough to match a fact with its job."""

DIGEST = 20
"""Characters of a digest that are shown: ``sha256:`` and twelve digits."""


@dataclass(frozen=True)
class Entry:
    """One record. ``turn`` is set on the record that begins a turn."""

    seq: int
    at: int | None
    name: str
    summary: str
    details: tuple[str, ...] = ()
    turn: int | None = None


def entries(lines: Iterable[EventLine | IntentLine]) -> Iterator[Entry]:
    """Describe each record. Intents have no time of their own."""
    calls: dict[int, CallTool | AskApproval] = {}
    for line in lines:
        if isinstance(line, EventLine):
            summary, details = _event(line.event, calls)
            yield Entry(line.seq, line.event.at, line.event.type, summary, details)
            continue
        if isinstance(line.intent, (CallTool, AskApproval)):
            calls[line.intent.n] = line.intent
        turn = line.intent.turn if isinstance(line.intent, Generate) else None
        yield Entry(line.seq, None, line.intent.type, _intent(line.intent, line), turn=turn)


def _intent(intent: Intent, line: IntentLine) -> str:
    match intent:
        case Generate(tool_choice=choice, messages=messages):
            choice_word = choice.name or choice.mode
            request = f"request {clip(line.request or '', DIGEST)}"
            return joined(count(messages, "message"), f"tool choice {choice_word}", request)
        case Compact(why=why, upto=upto, max_tokens=limit):
            summary = f"summary of at most {limit} tokens" if limit else "no summary"
            return joined(why, f"{count(upto, 'message')} left out", summary)
        case AskApproval(tool=tool, arguments=arguments, reason=reason):
            return joined(f"{tool} {one_line(arguments, DETAIL)}", reason)
        case CallTool(tool=tool, arguments=arguments, effect=effect):
            return joined(f"{tool} {one_line(arguments, DETAIL)}", effect)
        case Finish(reason=reason):
            return reason
        case _:
            return _of_build(intent)


def _of_build(intent: Intent) -> str:
    if isinstance(intent, AdvanceBuild):
        return joined(job_in_words(intent.wish), intent.wish.key[-KEY:])
    return ""


def _event(
    event: ev.Event, calls: dict[int, CallTool | AskApproval]
) -> tuple[str, tuple[str, ...]]:
    details: tuple[str, ...] = ()
    match event:
        case ev.PromptReceived(spec=spec, release=release):
            summary = joined(spec.kind, spec.full_name, f"release {release}")
            details = tuple(map(described, spec.attachments))
        case ev.CallsJudged(verdicts=verdicts):
            summary, details = count(len(verdicts), "call"), tuple(map(_verdict, verdicts))
        case ev.ApprovalAnswered():
            summary = joined(_tool(event.intent, calls), *_answer(event))
        case ev.ToolReturned():
            summary = joined(_tool(event.intent, calls), *_returned(event))
            details = tuple(map(described, event.attachments))
        case ev.CallProbed(intent=intent, found=found, reason=reason):
            summary = joined(_tool(intent, calls), found, reason)
        case ev.ReplyChecked():
            summary, details = _checked(event)
        case ev.RunResumed(epoch=epoch, unreleased=unreleased):
            summary = joined(f"epoch {epoch}", "not released before" if unreleased else "")
        case ev.RunForked(origin=origin, steer=steer, attachments=attached):
            summary = joined(f"from {origin.run}, record {origin.seq}", *origin.changed)
            details = (*filter(None, (steer,)), *map(described, attached))
        case ev.Steered(attachments=attached) | ev.FollowUpReceived(attachments=attached):
            summary, details = _signal(event), tuple(map(described, attached))
        case ev.BuildAdvanced(fact=fact):
            key = getattr(fact, "key", "")[-KEY:]
            summary = joined(fact.type, one_line(happened(fact), DETAIL), key)
        case ev.RunFinished(status=status, deliverable=digest):
            summary = joined(status, f"deliverable {clip(digest, DIGEST)}")
        case _:
            return _of_model(event) or (_signal(event), ())
    return summary, details


def _of_model(event: ev.Event) -> tuple[str, tuple[str, ...]] | None:
    """Describe the result of a request to the model; None for any other event."""
    match event:
        case ev.ModelResponded():
            return _responded(event, event.stop), tuple(map(_block, event.blocks))
        case ev.ModelFailed():
            return _failed(event), (event.message,)
        case ev.ContextCompacted(summary=summary):
            return _responded(event, "summary"), (summary,)
        case ev.CompactionFailed(code=code, message=message):
            what = FAILURES[code] if code == "budget" else "the oldest turns are dropped"
            return joined(code, what), (message,)
        case _:
            return None


_WORDS = ("text", "reason", "content")


def _signal(event: ev.Event) -> str:
    """Describe a signal: its text and its sender."""
    words = next(filter(None, (getattr(event, name, "") for name in _WORDS)), "")
    by = getattr(event, "by", "")
    return joined(f"by {by}" if by else "", one_line(words, DETAIL))


def _tool(intent: int, calls: dict[int, CallTool | AskApproval]) -> str:
    return calls[intent].tool if intent in calls else ""


def _responded(event: ev.ModelResponded | ev.ContextCompacted, what: str) -> str:
    return joined(
        what,
        f"{event.usage.input_tokens:,} tokens in, {event.usage.output_tokens:,} out",
        cost(event.cost_micros),
        "" if event.attempts == 1 else count(event.attempts, "attempt"),
        duration(event.duration_ms),
        f"raw {clip(event.raw, DIGEST)}" if event.raw else "",
    )


def _failed(event: ev.ModelFailed) -> str:
    tries = count(event.attempts, "attempt")
    return joined(event.code, FAILURES[event.code], tries, duration(event.duration_ms))


def _answer(event: ev.ApprovalAnswered) -> tuple[str, ...]:
    return "approved" if event.approved else "not approved", f"by {event.by}", event.reason


def _block(block: Block) -> str:
    match block:
        case TextBlock(text=text):
            return f"text {one_line(text, DETAIL)}"
        case ToolUseBlock(name=name, arguments=arguments):
            return f"call {name} {one_line(arguments, DETAIL)}"
        case ReasoningBlock(summary=summary):
            return f"reasoning {one_line(summary, DETAIL)}".rstrip()
        case ToolResultBlock(tool_use_id=call_id):
            return f"{block.type} for {call_id}"
        case _:
            return described(block)


def _verdict(verdict: Verdict) -> str:
    rule = f" by {verdict.rule}" if verdict.rule else ""
    why = verdict.reason or "; ".join(map(problem_text, verdict.problems))
    bound = binding_in(verdict)
    rule += f", {bound[0]} bound to {bound[1]}" if bound else ""
    return f"{verdict.tool}: {verdict.verdict}{rule}" + (f": {one_line(why, 400)}" if why else "")


def _returned(event: ev.ToolReturned) -> tuple[str, ...]:
    made = event.artifact
    return (
        event.status,
        duration(event.duration_ms),
        count(len(event.content), "character"),
        f"artifact {made.kind}:{made.id}" if made else "",
        f"data {label_in(event.content)} {clip(event.data, DIGEST)}" if event.data else "",
        one_line(event.content, DETAIL) if event.status != "ok" else "",
    )


def _checked(event: ev.ReplyChecked) -> tuple[str, tuple[str, ...]]:
    what = "accepted" if event.request is None else "sent back"
    details = [f"{f.code}: {f.subject}: {f.message}" for f in event.findings]
    if event.unfinished:
        details.append(
            f"cut off after {count(len(event.unfinished), 'character')}; the rest is requested"
        )
    if event.unwrapped:
        details.append("the text was taken out of a Markdown fence")
    if event.message:
        details.append(f"shown with the report: {one_line(event.message, DETAIL)}")
    if event.rejected:
        details.append(f"the earlier text is kept: {event.rejected}")
    return joined(what, count(len(event.findings), "finding")), tuple(details)
