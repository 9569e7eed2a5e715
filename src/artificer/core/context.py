"""Compaction: when a conversation is too long for its model, and what replaces its beginning.

All of this is computed from the state alone, so that a replay comes to the same requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from artificer.contracts.definition import ModelRequest
from artificer.core.attachments import attached_to, described
from artificer.core.budget import SHORTEST_REPLY, reply_tokens
from artificer.core.intents import Compact
from artificer.core.measure import message_tokens, sizes_of
from artificer.core.rules import since
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.window import boundaries
from artificer.values.base import JsonObject
from artificer.values.blocks import Message, TextBlock, ToolResultBlock, ToolUseBlock, user
from artificer.values.canon import canonical_typed
from artificer.values.model import ToolChoice
from artificer.values.text import head_and_tail
from artificer.values.tokens import BYTES_A_TOKEN, USUAL_BYTES_A_TOKEN, tokens_of

LONGEST_SUMMARY = 2048
"""Most tokens of a summary."""

LONGEST_PART, SHORTEST_PART = 8_000, 250
"""Characters of one text in what is summarised: as many as there is room for, between these."""


def pressed(state: RunState) -> bool:
    """Whether the next request and its reply may not fit any more.

    Before each turn the window moves at most once: where even that is not enough, the provider
    has the last word.
    """
    limit = state.run_spec.limits.context_tokens
    if limit is None or state.window.turn == state.turn + 1:
        return False
    reserve = min(state.run_spec.limits.max_tokens, limit // 4)
    return state.context_tokens + reserve > limit


def cannot_fit(state: RunState) -> bool:
    """Whether what is always sent whole is longer than the run's limit, by a usual count (rules 2).

    Sent all the same it might be cut by a server that says nothing.
    """
    limit = state.run_spec.limits.context_tokens
    if limit is None or not since(state.run_spec, 2):
        return False
    size = sum(len(text.encode()) for name, text in _whole(state) if name != "the tools")
    return size > limit * USUAL_BYTES_A_TOKEN


def what_stays(state: RunState) -> str:
    """Name the texts that no window leaves out or shortens, the longest first."""
    texts = sorted(_whole(state), key=lambda part: -len(part[1]))
    names = ", ".join(f"{name} ({len(text):,} characters)" for name, text in texts if text)
    limit = state.run_spec.limits.context_tokens
    note = "" if limit is None else f" The limit is {limit:,} tokens."
    return f"Always sent whole are {names}.{note}"


def _whole(state: RunState) -> Iterator[tuple[str, str]]:
    yield "the prompt", state.history[0].text
    if state.said:
        yield "the last message", state.history[state.said].text
    yield "the instructions", state.run_spec.system
    if state.run_spec.tools().tools:
        yield "the tools", state.run_spec.toolset


def may_compact(spec: RunSpec) -> bool:
    """Whether a conversation that is too long is made shorter, or ends its run."""
    return bool(spec.compaction) or spec.limits.context_tokens is not None


def compaction(state: RunState, why: Literal["limit", "overflow"]) -> Compact | None:
    """The intent that moves the window; None when it cannot move."""
    limit = state.run_spec.limits.context_tokens if why == "limit" else None
    size = limit or state.context_tokens
    found = boundaries(state.history, state.window.start)
    if why == "limit":  # what the last calls brought stays, if only the model can read it
        found = [number for number in found if number < len(state.history)]
    if not found:
        return None
    sizes, whole = sizes_of(state), _kept_whole(state)
    always = sizes.scaled(sum(whole.values()))
    movable = max(0, size - always) // 2
    summary = min(LONGEST_SUMMARY, max(SHORTEST_REPLY, movable // 4))
    aim = always + movable - 2 * summary
    upto = next((n for n in found if sizes.since(n, _before(whole, n)) <= aim), found[-1])
    covered = sum(map(message_tokens, state.history[state.window.told : upto]))
    room = min(size // 2, covered + summary)
    return Compact(
        n=state.next_intent,
        turn=state.turn + 1,
        why=why,
        history=state.history_digest,
        told=state.window.told,
        upto=upto,
        room=room,
        max_tokens=_affordable(state, room, summary),
    )


def _kept_whole(state: RunState) -> dict[int, int]:
    """The messages that an opening holds whole, with their tokens (rules 2)."""
    numbers = {0, state.said} if since(state.run_spec, 2) else set[int]()
    return {n: _whole_tokens(state.history[n]) for n in numbers}


def _whole_tokens(message: Message) -> int:
    return tokens_of(message.text.encode()) + sum([b.tokens for b in message.attachments])


def _before(whole: dict[int, int], upto: int) -> int:
    return sum(tokens for number, tokens in whole.items() if number < upto)


def _affordable(state: RunState, room: int, summary: int) -> int:
    """How long the summary may be within the run's budget; 0 when it is not to be asked for."""
    if not state.run_spec.compaction:
        return 0
    added = state.run_spec.compaction + state.window.summary
    need = room + tokens_of(added.encode())
    left = reply_tokens(state.run_spec, state.usage, state.cost_micros or 0, need)
    return 0 if isinstance(left, str) else min(left, summary)


# --- the request for a summary, and the text that replaces the messages -----------------------


def summary_request(state: RunState, intent: Compact) -> tuple[ModelRequest, tuple[Message, ...]]:
    """Return the request for a summary: without tools, and without reasoning of other models."""
    spec = state.run_spec
    settings = spec.settings_of(intent.turn - state.demands)
    request = ModelRequest(
        model=spec.model,
        system=spec.compaction,
        tools=(),
        tool_choice=ToolChoice(mode="none"),
        max_tokens=intent.max_tokens,
        temperature=None if settings.temperature is None else float(settings.temperature),
        settings=settings.replace(temperature=None, max_tokens=None, stop=(), reasoning=None),
    )
    messages = state.history[intent.told : intent.upto]
    lines = transcript(messages, intent.room * BYTES_A_TOKEN, state.window.summary)
    return request, (user(lines),)


def transcript(messages: Sequence[Message], room: int, summary: str = "") -> str:
    """Messages as lines of JSON, in about ``room`` bytes: no text can pass for another line.

    Long texts lose their middle, and when that is not enough the oldest lines are left out.
    """
    part = LONGEST_PART
    while True:
        lines = [_line(message, part) for message in messages]
        if part <= SHORTEST_PART or sum(map(len, lines)) <= room:
            break
        part //= 2
    kept: list[bytes] = []
    for line in reversed(lines):
        room -= len(line)
        if room < 0 and kept:
            break
        kept.append(line)
    if len(kept) < len(lines):
        kept.append(canonical_typed({"left_out": len(lines) - len(kept)}))
    if summary:
        kept.append(canonical_typed({"summary_of_what_was_before": summary}))
    return b"\n".join(reversed(kept)).decode()


def _line(message: Message, part: int) -> bytes:
    line: JsonObject = {"role": message.role}
    if message.text:
        line["text"] = head_and_tail(message.text, part)
    calls = [block for block in message.blocks if isinstance(block, ToolUseBlock)]
    if calls:
        line["calls"] = [
            {"id": c.id, "tool": c.name, "arguments": head_and_tail(c.arguments, part)}
            for c in calls
        ]
    results = [block for block in message.blocks if isinstance(block, ToolResultBlock)]
    if results:
        line["results"] = [
            {"id": r.tool_use_id, "status": r.status, "content": head_and_tail(r.content, part)}
            for r in results
        ]
    if attached := attached_to(message):
        line["attachments"] = [described(block) for block in attached]
    return canonical_typed(line)


def opening(state: RunState, intent: Compact, summary: str) -> str:
    """Return the text that replaces the messages that are no longer sent.

    The user's messages stay in the user's own words; ``summary`` is empty if there is none.
    """
    count = f"{intent.upto} message" + ("" if intent.upto == 1 else "s")
    known = summary or state.window.summary
    parts = [f"[The first {count} of this conversation are no longer shown: they would not fit.]"]
    parts.append("What the user wrote in them:\n\n" + _words(state, intent))
    if state.artifacts:
        made = ", ".join(f"{ref.kind}:{ref.id}" for ref in state.artifacts)
        parts.append(f"Artifacts that exist already: {head_and_tail(made, intent.room)}")
    if known:
        parts.append("A summary of what was done and found in them:\n\n" + known)
    if not summary:
        which = "the last of them" if known else "them"
        parts.append(f"[There is no summary of {which}. Look again at whatever you need there.]")
    return "\n\n".join(parts)


def _words(state: RunState, intent: Compact) -> str:
    """The user's texts: the run's prompt and the last message as they are, then the newest that
    fit.

    What a run was asked to do is never cut: where it is too long, the provider has the last word.
    Of the others the newest is shortened rather than left out.
    """
    messages = enumerate(state.history[: intent.upto])
    texts = {n: m.text for n, m in messages if m.role == "user" and _has_text(m)}
    first = min(texts, default=0)
    kept = {n: text for n, text in texts.items() if n in (first, state.said)}
    others = [n for n in texts if n not in kept]
    room = intent.room // 2  # characters: a quarter of the room, in estimated tokens
    for place, number in enumerate(reversed(others)):
        text = texts[number]
        if place and len(text) > room:
            break
        kept[number] = head_and_tail(text, room)
        room -= len(text)
    chosen = [kept[number] for number in sorted(kept)]
    if left := len(texts) - len(kept):
        chosen.insert(1, f"[{left} more left out]")
    return "\n\n".join(chosen)


def _has_text(message: Message) -> bool:
    return any(isinstance(block, TextBlock) and block.text.strip() for block in message.blocks)
