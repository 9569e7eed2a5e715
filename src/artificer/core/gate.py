"""The gate: every tool call of every backend passes here, and nowhere else.

known tool → arguments parsed, raw text kept → JSON Schema, all errors at once → the tool's own
rules → policy → verdict. Verdicts are recorded as facts: their wording and a library's messages
may change with a release, the text that the model reads may not.
"""

from __future__ import annotations

from msgspec import Struct

from artificer.artifacts.binding.sources import Sources
from artificer.artifacts.ref import ArtifactRef
from artificer.contracts.definition import ToolDefinition, Toolset
from artificer.contracts.described import description_at
from artificer.contracts.schema import compile_schema
from artificer.core.policy import Consult, Occasion, Policy, PolicyQuery, decide_on
from artificer.core.repeats import refused_before
from artificer.core.rules import since
from artificer.core.verdict import Refused, Verdict
from artificer.values.base import JsonObject, Problem
from artificer.values.blocks import ToolUseBlock
from artificer.values.canon import canonical, canonical_typed, digest_of
from artificer.values.model import StopReason
from artificer.values.refusal import not_ok, with_more
from artificer.values.strict_json import ParsedObject, parse_canonical
from artificer.values.text import clip

_UNTRUSTED: dict[StopReason, str] = {
    "max_tokens": "Not run: your reply was cut off at its output limit. "
    "Repeat the call, with less in it.",
    "refusal": "Not run: your reply ended in a refusal.",
}


_AGAIN = "The same call was refused before. Do not repeat it: change it, or do something else."

_MAX_DESCRIBED, _LONGEST_DESCRIPTION = 5, 500
"""Arguments that are described again, and the characters of each description."""


def judge(
    calls: tuple[ToolUseBlock, ...],
    *,
    toolset: Toolset,
    policy: Policy,
    made: tuple[ArtifactRef, ...],
    limit: int,
    stop: StopReason,
    occasion: Occasion | None = None,
    consult: Consult | None = None,
) -> tuple[Verdict, ...]:
    """Judge the calls of one turn, in order.

    ``made`` are the artifacts that exist; what earlier calls of the turn will make counts too.
    ``limit`` is the number of calls that one turn may have. ``stop`` says why the reply ended:
    when that was its output limit or a refusal, no call of it can be trusted to be whole and
    meant, and none runs. ``occasion`` is what the policy knows of the run;
    ``consult`` asks its Cedar policies. When a call was refused lately, a new refusal says so.
    """
    verdicts: list[Verdict] = []
    seen: set[str] = set()
    occasion = occasion or Occasion()
    sources = Sources(occasion.labels, occasion.sources, [call.name for call in calls])
    rules = _Rules(policy, occasion, consult, since(occasion, 2), sources)
    for number, call in enumerate(calls, 1):
        if stop in _UNTRUSTED:
            verdict = _refuse(call, "invalid", _UNTRUSTED[stop])
        elif number > limit:
            verdict = _refuse(
                call, "invalid", f"Not run: one reply may hold at most {limit} tool calls."
            )
        else:
            verdict = _judge(call, toolset, rules, made, seen)
            if verdict.content and _was_refused(call, occasion):
                verdict = _refused_again(verdict, toolset.get(call.name))
        if verdict.verdict in ("allow", "ask") and verdict.digest and verdict.arguments:
            seen.add(verdict.digest)
            tool = toolset.get(call.name)
            if tool is not None and tool.backend == "artifact":
                made = _with_pending(made, tool, verdict.arguments)
        verdicts.append(verdict)
    return tuple(verdicts)


class _Rules(Struct, frozen=True):
    """The rules that the calls of a turn are held to, besides those of their tools."""

    policy: Policy
    occasion: Occasion
    consult: Consult | None
    formats: bool
    sources: Sources


def _judge(
    call: ToolUseBlock,
    toolset: Toolset,
    rules: _Rules,
    made: tuple[ArtifactRef, ...],
    seen: set[str],
) -> Verdict:
    tool = toolset.get(call.name)
    if tool is None:
        known = ", ".join(toolset.names) or "none"
        return _refuse(call, "unknown_tool", f"There is no such tool. The tools are: {known}.")
    parsed = parse_canonical(call.arguments)
    if not isinstance(parsed, ParsedObject):
        return _invalid(call, parsed)
    arguments, text = parsed.value, parsed.canonical
    if tool.backend == "artifact":
        arguments, problems = _checked(tool, arguments, rules, made)
        text = canonical(arguments).decode()
    else:
        problems = _problems(tool, arguments, rules)
    digest = call_digest(call.name, text)
    if digest in seen:
        return _refuse(
            call, "duplicate", "Not run again: this turn already has the same call.", text, digest
        )
    if problems:
        return _invalid(call, problems, text, digest)
    query = PolicyQuery(tool, arguments, rules.occasion, text)
    decision = decide_on(query, rules.policy, rules.consult)
    if decision.decision == "deny":
        return _refuse(
            call,
            "denied",
            decision.reason or "The policy does not allow this call.",
            text,
            digest,
            rule=decision.rule,
        )
    return Verdict(
        call_id=call.id,
        tool=call.name,
        verdict=decision.decision,
        rule=decision.rule,
        reason=decision.reason,
        arguments=text,
        digest=digest,
        resources=tool.resources_of(arguments, defaults=since(rules.occasion, 4)),
    )


def _was_refused(call: ToolUseBlock, occasion: Occasion) -> bool:
    """Whether the same call was refused in one of the turns before (rules 2)."""
    written = (call.name, call.arguments)
    return since(occasion, 2) and written in refused_before(occasion.history)


def _refused_again(verdict: Verdict, tool: ToolDefinition | None) -> Verdict:
    """Say that a refused call was refused before, and what the arguments at fault are."""
    schema = _schema_of(tool) if tool else {}
    places = dict.fromkeys(problem.pointer for problem in verdict.problems[:_MAX_DESCRIBED])
    words = {at: clip(description_at(schema, at), _LONGEST_DESCRIPTION) for at in places}
    more = "\n".join([_AGAIN, *(f"{at}: {words_at}" for at, words_at in words.items() if words_at)])
    return verdict.replace(content=with_more(verdict.content, more))


def _schema_of(tool: ToolDefinition) -> JsonObject:
    """Return the schema that a call is checked against, with all rules of ``data``."""
    if tool.backend != "artifact":
        return tool.input_schema
    from artificer.artifacts.binding import offer

    return offer.checked_schema(tool)


def cut_off(calls: tuple[ToolUseBlock, ...], limit: int) -> tuple[Verdict, ...]:
    """Refuse the calls of a reply that was cut off at ``limit`` tokens: the last is not whole."""
    why = f"Not run: your reply was cut off at its output limit of {limit} tokens"
    *whole, last = calls
    again = f"{why}, in a later call. Make this call again, and fewer calls in one reply."
    shorter = (
        f"{why}, after {len(last.arguments)} characters of this call's arguments. Make it the only"
        " call of a reply, with no text next to it. If it is still too long then, put less in it:"
        " divide a file or a table into several, or draw with fewer shapes."
    )
    return (*(_refuse(call, "invalid", again) for call in whole), _refuse(last, "invalid", shorter))


def call_digest(tool: str, arguments: str) -> str:
    """Digest that binds a tool's name to canonical arguments."""
    return digest_of(canonical_typed({"arguments": arguments, "tool": tool}))


def _checked(
    tool: ToolDefinition, arguments: JsonObject, rules: _Rules, made: tuple[ArtifactRef, ...]
) -> tuple[JsonObject, tuple[Problem, ...]]:
    from artificer.core.artifact_calls import checked

    return checked(tool, arguments, made, rules.sources, formats=rules.formats)


def _with_pending(
    made: tuple[ArtifactRef, ...], tool: ToolDefinition, arguments: str
) -> tuple[ArtifactRef, ...]:
    from artificer.core.artifact_calls import with_pending

    return with_pending(made, tool, arguments)


def _problems(tool: ToolDefinition, arguments: JsonObject, rules: _Rules) -> tuple[Problem, ...]:
    # The types of a function say more than the formats that stand for them, and not the same.
    formats = rules.formats and tool.backend != "function"
    return compile_schema(tool.input_schema, formats=formats).problems(arguments)


def _invalid(
    call: ToolUseBlock,
    problems: tuple[Problem, ...],
    arguments: str | None = None,
    digest: str | None = None,
) -> Verdict:
    count = len(problems)
    detail = (
        f"Not run: {count} problem{'s' if count > 1 else ''}. Correct all of them and call again."
    )
    return Verdict(
        call_id=call.id,
        tool=call.name,
        verdict="invalid",
        problems=problems,
        arguments=arguments,
        digest=digest,
        content=not_ok("invalid", f"{call.name}: {detail}", problems),
    )


def _refuse(
    call: ToolUseBlock,
    verdict: Refused,
    detail: str,
    arguments: str | None = None,
    digest: str | None = None,
    *,
    rule: str = "",
) -> Verdict:
    return Verdict(
        call_id=call.id,
        tool=call.name,
        verdict=verdict,
        rule=rule,
        reason=detail,
        arguments=arguments,
        digest=digest,
        content=not_ok(verdict, f"{call.name}: {detail}"),
    )
