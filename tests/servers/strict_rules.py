"""Refusals of real providers, as functions of a request's body.

Every rule is a documented 400 of OpenAI or Anthropic. Other doubles, and llama.cpp, let most of
these pass; a history that was repaired wrongly would then be noticed by users only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from strict_cache import CACHE_MEMBERS, cache_fault, system_texts
from strict_parts import chat_part, messages_block, responses_part
from strict_schema import (
    FORMAT_MEMBERS,
    Protocol,
    Refused,
    anthropic_strict,
    format_optional,
    openai_strict,
)
from strict_schema import need as _need

__all__ = ["Protocol", "Refused", "check_request"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")

_SHARED = {"model", "tools", "tool_choice", "stream", "temperature"}
_MEMBERS: dict[Protocol, set[str]] = {
    "chat": _SHARED | {"messages", "max_tokens", "max_completion_tokens", "stream_options", "seed"},
    "messages": _SHARED | {"messages", "system", "max_tokens", "thinking"},
    "responses": _SHARED
    | {"input", "instructions", "max_output_tokens", "store", "include", "reasoning"},
}


def check_request(protocol: Protocol, body: Any) -> None:
    """Raise Refused for the first thing that the provider would refuse."""
    _need(isinstance(body, dict), "the body is not an object")
    unknown = body.keys() - _MEMBERS[protocol] - CACHE_MEMBERS[protocol] - FORMAT_MEMBERS[protocol]
    _need(not unknown, f"Unknown parameter: {sorted(unknown)}")
    _need(isinstance(body.get("model"), str) and body["model"], "model: field required")
    streams = body.get("stream", False) is True
    _need(streams or protocol == "chat", "this double streams the answers of this protocol")
    try:
        _need(not cache_fault(body), cache_fault(body) or "")
        format_optional(protocol, body)
        _CHECKS[protocol](body)
    except (AttributeError, TypeError, LookupError, ValueError, RecursionError) as error:
        raise Refused(f"something has the wrong type ({type(error).__name__})") from error


def _text(value: Any, where: str) -> None:
    _need(isinstance(value, str) and value.strip(), f"{where}: text must be non-empty")


def _list(value: Any, where: str) -> list[Any]:
    _need(isinstance(value, list) and value, f"{where}: must be a non-empty list")
    return list(value)


def _positive(value: Any, where: str, least: int = 1) -> None:
    _need(type(value) is int and value >= least, f"{where}: must be at least {least}")


def _json_object(text: Any, where: str) -> None:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        value = None
    _need(isinstance(value, dict), f"{where}: arguments must be a JSON object")


def _tools(tools: Iterable[tuple[Any, Any, bool]], choice: Any) -> None:
    """Check names, schemas and the named choice. A tool is (name, schema, strict)."""
    names = []
    for name, schema, _ in tools:
        _need(isinstance(name, str) and _NAME.match(name), f"tools: invalid name {name!r}")
        _need(isinstance(schema, dict), f"tools.{name}: schema missing")
        _need(schema.get("type") == "object", f"tools.{name}: schema must be of type object")
        names.append(name)
    _need(len(names) == len(set(names)), "tools: names must be unique")
    _need(choice is None or choice in names, f"tool_choice: no tool named {choice!r}")


def _strict_openai(tools: Iterable[tuple[Any, Any, bool]]) -> None:
    for _, schema, strict in tools:
        if strict:
            openai_strict(schema)


# --- Chat Completions -------------------------------------------------------------------------


def _check_chat(body: dict[str, Any]) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body:
            _positive(body[name], name)
    functions = [tool["function"] for tool in body.get("tools", [])]
    tools = [(f.get("name"), f.get("parameters"), f.get("strict", False)) for f in functions]
    choice = body.get("tool_choice")
    _tools(tools, choice["function"]["name"] if isinstance(choice, dict) else None)
    _need(tools or "tool_choice" not in body, "tool_choice is only allowed with tools")
    _strict_openai(tools)
    open_ids: list[str] = []
    for number, message in enumerate(_list(body.get("messages"), "messages")):
        where, role = f"messages.{number}", message.get("role")
        if role == "tool":
            _need(
                message.get("tool_call_id") in open_ids,
                f"{where}: role 'tool' must be a response to a preceding message with 'tool_calls'",
            )
            open_ids.remove(message["tool_call_id"])
            _text(message.get("content"), where)
            continue
        _need(not open_ids, f"{where}: tool_call_ids did not have response messages: {open_ids}")
        open_ids = _chat_message(message, where)
    _need(not open_ids, f"tool_call_ids did not have response messages: {open_ids}")


def _chat_message(message: dict[str, Any], where: str) -> list[str]:
    """Check a message that is no tool result; return the ids of its calls."""
    _need(message.get("role") in ("system", "user", "assistant"), f"{where}: invalid role")
    calls = message.get("tool_calls")
    if message["role"] == "user" and isinstance(message.get("content"), list):
        for part in _list(message["content"], where):
            if part.get("type") == "text":
                _text(part.get("text"), where)
            else:
                chat_part(part, where)
    elif calls is None or message.get("content") is not None:
        _text(message.get("content"), where)
    if calls is None:
        return []
    _need(message["role"] == "assistant", f"{where}: only the assistant calls tools")
    ids: list[str] = []
    for call in _list(calls, f"{where}.tool_calls"):
        call_id = call.get("id")
        _need(isinstance(call_id, str) and 0 < len(call_id) <= 40, f"{where}: id too long or empty")
        _need(call.get("type") == "function", f"{where}: invalid type of call")
        _need(_NAME.match(str(call["function"].get("name"))), f"{where}: invalid function name")
        _json_object(call["function"].get("arguments"), where)
        ids.append(call_id)
    _need(len(ids) == len(set(ids)), f"{where}: duplicate tool_call ids")
    return ids


# --- Messages ---------------------------------------------------------------------------------


def _check_messages(body: dict[str, Any]) -> None:
    _need("max_tokens" in body, "max_tokens: field required")
    _positive(body["max_tokens"], "max_tokens")
    for text in system_texts(body):
        _text(text, "system")
    offered = body.get("tools", [])
    tools = [(t.get("name"), t.get("input_schema"), t.get("strict", False)) for t in offered]
    choice = body.get("tool_choice", {})
    _need(choice.get("type", "auto") in ("auto", "any", "tool", "none"), "tool_choice: invalid")
    _tools(tools, choice.get("name"))
    strict = [schema for _, schema, is_strict in tools if is_strict]
    optional = sum(anthropic_strict(schema) for schema in strict)
    optional += format_optional("messages", body)
    _need(len(strict) <= 20 and optional <= 24, "strict: too many tools or optional parameters")
    turns = _merged(_list(body.get("messages"), "messages"))
    _need(turns[0][0] == "user", "messages: first message must use the user role")
    open_ids: list[str] = []
    seen: set[str] = set()
    for role, content in turns:
        if role == "user":
            _user_turn(content, open_ids)
            open_ids = []
        else:
            open_ids = _assistant_turn(content)
            _need(not seen & set(open_ids), "`tool_use` ids must be unique")
            seen |= set(open_ids)
    _need(not open_ids, f"`tool_use` ids were found without `tool_result` blocks: {open_ids}")


def _merged(messages: list[Any]) -> list[tuple[str, list[Any]]]:
    """Consecutive messages of one role count as one turn."""
    turns: list[tuple[str, list[Any]]] = []
    for message in messages:
        role, content = message.get("role"), message.get("content")
        _need(role in ("user", "assistant"), f"messages: invalid role {role!r}")
        blocks = _list(content, "messages: content")
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    return turns


def _user_turn(content: list[Any], open_ids: list[str]) -> None:
    answered: list[str] = []
    texts = 0
    for block in content:
        if block.get("type") == "text":
            _text(block.get("text"), "text content blocks")
            texts += 1
            continue
        if messages_block(block, "user"):
            texts += 1
            continue
        _need(block.get("type") == "tool_result", f"user: unexpected block {block.get('type')!r}")
        _need(not texts, "`tool_result` blocks must come first")
        _need(block.get("tool_use_id") in open_ids, "unexpected `tool_use_id` in `tool_result`")
        _need(block.get("content") or not block.get("is_error"), "is_error needs content")
        _result_content(block)
        answered.append(block["tool_use_id"])
    _need(
        sorted(answered) == sorted(open_ids),
        f"`tool_use` ids were found without `tool_result` blocks: {open_ids}",
    )


def _result_content(block: dict[str, Any]) -> None:
    """Check the content of a tool result: a text, or blocks."""
    if isinstance(block.get("content"), str):
        return
    for part in _list(block.get("content"), "tool_result"):
        if part.get("type") == "text":
            _text(part.get("text"), "tool_result")
            continue
        _need(not block.get("is_error"), "all content must be type `text` if `is_error` is true")
        _need(messages_block(part, "tool_result"), "tool_result: unexpected block")


def _assistant_turn(content: list[Any]) -> list[str]:
    ids: list[str] = []
    for block in content:
        kind = block.get("type")
        if kind == "text":
            _text(block.get("text"), "text content blocks")
        elif kind == "tool_use":
            _need(_ANTHROPIC_ID.match(str(block.get("id"))), "tool_use.id: invalid")
            _need(_NAME.match(str(block.get("name"))), "tool_use.name: invalid")
            _need(isinstance(block.get("input"), dict), "tool_use.input: must be an object")
            ids.append(block["id"])
        elif kind == "thinking":
            _need(block.get("signature"), "thinking.signature: field required")
        else:
            _need(kind == "redacted_thinking", f"assistant: unexpected block {kind!r}")
    last = content[-1].get("type")
    _need(last in ("text", "tool_use"), f"the final block cannot be `{last}`")
    _need(len(ids) == len(set(ids)), "`tool_use` ids must be unique")
    return ids


# --- Responses --------------------------------------------------------------------------------


def _check_responses(body: dict[str, Any]) -> None:
    _positive(body.get("max_output_tokens"), "max_output_tokens", least=16)
    _need(body.get("store") is False, "this double stores nothing")
    offered = body.get("tools", [])
    tools = [(t.get("name"), t.get("parameters"), t.get("strict", True)) for t in offered]
    choice = body.get("tool_choice")
    _tools(tools, choice["name"] if isinstance(choice, dict) else None)
    _strict_openai(tools)
    open_ids: list[str] = []
    after_reasoning = False
    for number, item in enumerate(_list(body.get("input"), "input")):
        where, kind = f"input.{number}", item.get("type")
        own = kind in ("reasoning", "function_call") or item.get("role") == "assistant"
        _need(own or not after_reasoning, f"{where}: reasoning without its required following item")
        after_reasoning = kind == "reasoning"
        _responses_item(item, open_ids, where)
    _need(not after_reasoning, "reasoning was provided without its required following item")
    _need(not open_ids, f"No tool output found for function call {open_ids}")


def _responses_item(item: dict[str, Any], open_ids: list[str], where: str) -> None:
    """Check one item; ``open_ids`` are the calls that wait for their output."""
    kind = item.get("type")
    if kind == "function_call":
        call_id = item.get("call_id")
        _need(isinstance(call_id, str) and 0 < len(call_id) <= 64, f"{where}: invalid call_id")
        _need(call_id not in open_ids, f"{where}: duplicate call_id")
        _need(_NAME.match(str(item.get("name"))), f"{where}: invalid name")
        _json_object(item.get("arguments"), where)
        open_ids.append(str(call_id))
    elif kind == "function_call_output":
        _need(item.get("call_id") in open_ids, f"{where}: No tool call found for output")
        if isinstance(item.get("output"), list):
            _input_parts(_list(item["output"], where), where)
        else:
            _text(item.get("output"), where)
        open_ids.remove(item["call_id"])
    elif kind == "reasoning":
        _need(item.get("encrypted_content"), f"{where}: item not found, since it is not persisted")
    else:
        _need(kind == "message", f"{where}: invalid type {kind!r}")
        if item.get("role") == "user":
            _input_parts(_list(item.get("content"), where), where)
            return
        wanted = {"assistant": "output_text"}.get(str(item.get("role")))
        for part in _list(item.get("content"), where):
            _need(part.get("type") == wanted, f"{where}: invalid content type")
            _text(part.get("text"), where)


def _input_parts(parts: list[Any], where: str) -> None:
    for part in parts:
        if part.get("type") == "input_text":
            _text(part.get("text"), where)
        else:
            responses_part(part, where)


_CHECKS = {"chat": _check_chat, "messages": _check_messages, "responses": _check_responses}
