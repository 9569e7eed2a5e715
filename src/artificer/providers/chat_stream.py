"""The reply of one Chat Completions stream, assembled from its chunks.

Source: OpenAI's API reference (chat completion chunk object). Many servers deviate from it; the
deviations accepted here were observed with llama.cpp, vLLM, Ollama, OpenRouter or DeepSeek.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from artificer.contracts.definition import ToolDefinition
from artificer.providers.assembler import ReplyStream
from artificer.providers.dialects import ChatDialect
from artificer.providers.failures import failure
from artificer.providers.mapping import (
    NewId,
    count_of,
    fresh_id,
    raw_arguments,
    text_of,
)
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import (
    Block,
    TextBlock,
)
from artificer.values.model import (
    Delta,
    ModelFailure,
    ModelReply,
    ReasoningDelta,
    StopReason,
    TextDelta,
    Usage,
)

_FAILED_FINISH = frozenset({"error", "abort", "insufficient_system_resource"})
"""Finish reasons of OpenRouter, vLLM and DeepSeek that mean: no reply."""

_REASONING_FIELDS = ("reasoning_content", "reasoning")

EXTRA, EXTRAS = "extra_content", "calls_extra_content"
"""The member of a call that a server needs back, such as Gemini's thought signatures; and the
member of reasoning that keeps those of all calls, in order."""


@dataclass(eq=False)  # two calls with equal content are different calls
class _Call:
    """A tool call as its pieces arrive."""

    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: JsonValue = None


class ChatStream(ReplyStream):
    """Assembles a reply from parsed ``chat.completion.chunk`` objects. Reads the first choice."""

    def __init__(
        self,
        dialect: ChatDialect,
        tools: Sequence[ToolDefinition],
        new_id: NewId = fresh_id,
    ) -> None:
        super().__init__(dialect, tools, new_id)
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._reasoning_details: list[JsonValue] = []
        self._calls: list[_Call] = []
        self._finish_reason: str | None = None
        self._usage = Usage()
        self._ids = {"id": "", "model": ""}

    @property
    def complete(self) -> bool:
        """Whether the reason for the end of the reply has arrived. The usage may follow it."""
        return self._finish_reason is not None

    def _take(self, event: JsonObject) -> list[Delta]:
        for name in self._ids:
            self._ids[name] = self._ids[name] or text_of(event.get(name))
        self._read_usage(event.get("usage"))
        choice = _first_choice(event.get("choices"))
        deltas = self._read_message(choice.get("delta") or choice.get("message"))
        self._finish_reason = text_of(choice.get("finish_reason")) or self._finish_reason
        return deltas

    def _reply(self) -> ModelReply | ModelFailure:
        if self._finish_reason in _FAILED_FINISH:
            return failure("unavailable", f"The server ended the reply: {self._finish_reason}.")
        return ModelReply(
            blocks=tuple(self._blocks()),
            stop=self._stop(),
            usage=self._usage,
            model=self._ids["model"],
            response_id=self._ids["id"],
            raw=self._raw(),
        )

    def _read_usage(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._usage = Usage(
                input_tokens=count_of(usage, "prompt_tokens"),
                output_tokens=count_of(usage, "completion_tokens"),
                cached_tokens=count_of(usage, "prompt_tokens_details", "cached_tokens"),
                reasoning_tokens=count_of(usage, "completion_tokens_details", "reasoning_tokens"),
            )

    def _read_message(self, message: object) -> list[Delta]:
        if not isinstance(message, dict):
            return []
        deltas: list[Delta] = []
        if text := self._counted(text_of(message.get("content"))):
            self._text.append(text)
            deltas.append(TextDelta(text=text))
        if refusal := self._counted(text_of(message.get("refusal"))):
            self._refusal.append(refusal)
        for name in _REASONING_FIELDS:
            if thought := self._counted(text_of(message.get(name))):
                self._reasoning.setdefault(name, []).append(thought)
                if name == next(iter(self._reasoning)):  # some servers send it under both names
                    deltas.append(ReasoningDelta(text=thought))
        details = message.get("reasoning_details")
        if isinstance(details, list):
            self._counted(json.dumps(details))
            self._reasoning_details.extend(details)
        calls = message.get("tool_calls")
        for piece in calls if isinstance(calls, list) else []:
            if isinstance(piece, dict):
                deltas.extend(self._read_call(piece))
        return deltas

    def _read_call(self, piece: JsonObject) -> list[Delta]:
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name = text_of(piece.get("id")), text_of(function.get("name"))
        call = self._call_for(piece.get("index"), call_id, name)
        if call is None:
            return []
        call.id, call.name = call.id or call_id, call.name or name
        if extra := piece.get(EXTRA):
            self._counted(json.dumps(extra))
            call.extra = extra
        if not (text := self._counted(raw_arguments(function.get("arguments")))):
            return []
        call.pieces.append(text)
        return [self._arguments_delta(self._calls.index(call), call.name, text)]

    def _call_for(self, index: JsonValue, call_id: str, name: str) -> _Call | None:
        """Return the call that a piece belongs to, or a new one if it begins one.

        The index decides; without an index the id, else the last call. A new id with a name begins
        a new call even under a known index, because some servers number all calls 0. So does a
        known id with a name under another index, because some servers give all calls one id.
        """
        number = index if type(index) is int else None
        opens = bool(call_id and name)
        for call in reversed(self._calls):
            other = number is not None and call.index not in (None, number)
            if call_id and call.id == call_id and not (opens and other):
                return call
            if number is not None and call.index == number and not (opens and call.id):
                return call
        if number is None and self._calls and not opens:
            last = self._calls[-1]
            if not (name and last.name):
                return last
        if not self._has_room(len(self._calls)):
            return None
        self._calls.append(_Call(index=number))
        return self._calls[-1]

    def _stop(self) -> StopReason:
        """Return why the reply ended. Calls count for any reason, unless the reply was cut."""
        if self._finish_reason == "length":
            return "max_tokens"
        if self._finish_reason == "content_filter" or self._refusal:
            return "refusal"
        return "tool_use" if self._calls else "end_turn"

    def _blocks(self) -> list[Block]:
        blocks: list[Block] = []
        if reasoning := self._reasoning_data():
            summary = next(("".join(pieces) for pieces in self._reasoning.values()), "")
            blocks.append(self._reasoning_block(json.dumps(reasoning), summary))
        if text := "".join(self._text) or "".join(self._refusal):
            blocks.append(TextBlock(text=text))
        blocks += [self._call(call.id, call.name, "".join(call.pieces)) for call in self._calls]
        return blocks

    def _reasoning_data(self) -> JsonObject:
        """Return the reasoning as the message members in which it arrived."""
        data: JsonObject = {name: "".join(pieces) for name, pieces in self._reasoning.items()}
        if self._reasoning_details:
            data["reasoning_details"] = self._reasoning_details
        if any(call.extra for call in self._calls):
            data[EXTRAS] = [call.extra for call in self._calls]
        return data

    def _raw(self) -> bytes:
        """Return the content of all chunks as one JSON message."""
        message: JsonObject = {
            "content": "".join(self._text),
            **self._reasoning_data(),
            "tool_calls": [
                {"id": c.id, "function": {"name": c.name, "arguments": "".join(c.pieces)}}
                for c in self._calls
            ],
        }
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        whole = {
            **self._ids,
            "finish_reason": self._finish_reason,
            "usage": self._usage.to_json(),
            "message": message,
        }
        return json.dumps(whole).encode()


def _first_choice(choices: object) -> JsonObject:
    """Return the first choice, or an empty object: the usage chunk has none."""
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}
