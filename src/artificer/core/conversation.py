"""The conversation of a run as it grows: by messages, the results of calls, and their sources."""

from __future__ import annotations

from artificer.core.attachments import attached_to
from artificer.core.call_ids import with_ids
from artificer.core.rules import since
from artificer.core.sources import CallSource, chained
from artificer.core.spec import RunSpec
from artificer.core.state import CallState, RunState
from artificer.core.taint import tainted
from artificer.errors import InvariantError
from artificer.values.blocks import AttachedBlock, Message, ToolResultBlock, user
from artificer.values.canon import digest_of
from artificer.values.tokens import tokens_of


def with_message(state: RunState, message: Message, **changes: object) -> RunState:
    """Append to the conversation and to the chain of its digest, with whatever else changes."""
    body = message.identity()
    tokens = state.context_tokens + tokens_of(body)
    if attached := attached_to(message):
        tokens += sum([block.tokens for block in attached])
        changes["attached"] = state.attached.plus(attached)
    changes.setdefault("context_tokens", tokens)
    changes["history"] = state.history.extended(message)
    changes["history_digest"] = digest_of(state.history_digest.encode() + body)
    return state.replace(**changes)


def with_history(state: RunState, spec: RunSpec) -> RunState:
    """Begin the conversation with the messages of another one."""
    for message in spec.history:
        ids = with_ids(state.call_ids, [call.id for call in message.calls])
        state = with_message(state, message, call_ids=ids)
    return state


def with_words(state: RunState, text: str, attachments: tuple[AttachedBlock, ...] = ()) -> RunState:
    """Append what a person says, with the attachments that are within the limits."""
    number = len(state.history) if since(state.run_spec, 2) else 0
    kept, note = state.attached.within(attachments, state.run_spec.limits)
    return with_message(state, user(text + note, kept), said=number)


def labelled(state: RunState, call: CallState) -> RunState:
    """The state after a tool was performed, with the taint that its result brings."""
    tool = state.run_spec.tool(call.verdict.tool) if call.verdict else None
    taint = tainted(state.taint, tool, call.id)
    return state if taint is state.taint else state.replace(taint=taint)


def with_sources(state: RunState) -> RunState:
    """The state at the end of a turn, whose calls with a label are sources from now on."""
    added: list[CallSource] = []
    for call in state.calls:
        if call.label and call.verdict is not None and call.status is not None:
            source = CallSource(
                label=call.label,
                tool=call.verdict.tool,
                call_id=call.id,
                status=call.status,
                digest=call.data,
            )
            added.append(source)
    if not added:
        return state
    sources, digest = (*state.sources, *added), chained(state.sources_digest, added)
    return state.replace(sources=sources, sources_digest=digest)


def results_of(state: RunState) -> Message:
    """The one message that answers every call of a turn, in call order (invariant 1)."""
    blocks: list[ToolResultBlock] = []
    attached = state.attached
    for call in state.calls:
        if call.status is None:
            raise InvariantError(f"The call {call.id} has no result.")
        content, attachments = call.content, call.attachments
        if attachments:
            attachments, note = attached.within(attachments, state.run_spec.limits)
            attached, content = attached.plus(attachments), content + note
        blocks.append(
            ToolResultBlock(
                tool_use_id=call.id, status=call.status, content=content, attachments=attachments
            )
        )
    return Message(role="user", blocks=tuple(blocks))
