"""Facts about a run, for the run itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from artificer.backends.answer import ToolRefusal, integer_in, page
from artificer.backends.introspect.module import Module
from artificer.contracts.definition import ToolDefinition
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.ports import RunView
from artificer.values.base import JsonObject, JsonValue, Value
from artificer.values.canon import canonical, digest_of
from artificer.values.pointer import steps_of
from artificer.values.text import clip

MAX_INLINE = 600
"""Characters of a member that is shown as it is, and not only described."""

MAX_TEXT = 20_000
"""Characters of a text that one answer holds."""


def manifest(view: RunView, arguments: JsonObject) -> JsonObject:
    """Return the run's specification, with digests."""
    spec = view.state.run_spec
    toolset = spec.tools()
    tools = [(tool.name, tool) for tool in toolset.tools]
    return {
        "spec": spec.digest,
        "kind": spec.kind,
        "model": spec.full_name,
        **_fallbacks(view.state),
        "wire": spec.wire,
        "temperature": spec.temperature,
        "prompt": _text(spec.prompt),
        "system": _text(spec.system),
        "toolset": {"digest": toolset.digest, "count": len(tools)},
        "policy": _value(spec.policy),
        "limits": _value(spec.limits),
        "facilities": _value(spec.facilities),
        **_format(spec),
        **_page("tools", tools, _tool, arguments, 50),
    }


def _fallbacks(state: RunState) -> JsonObject:
    """The models before and after this one, where the run has a list of them."""
    failed: list[JsonValue] = [model.to_json() for model in state.failed_models]
    models = state.run_spec.fallbacks
    left: list[JsonValue] = [f"{model.provider}/{model.model}" for model in models]
    return {"failed_models": failed, "fallbacks": left} if failed or left else {}


def _format(spec: RunSpec) -> JsonObject:
    wanted = spec.response_format
    return {} if wanted is None else {"response_format": _value(wanted)}


def schemas(view: RunView, arguments: JsonObject) -> JsonObject:
    """The tools with their schemas."""
    toolset = view.state.run_spec.tools()
    wanted = arguments.get("tool")
    if wanted is not None and toolset.get(str(wanted)) is None:
        raise ToolRefusal(f"This run has no tool {wanted!r}. It has: {', '.join(toolset.names)}.")
    tools = [(tool.name, tool) for tool in toolset.tools if wanted in (None, tool.name)]
    found = _page("tools", tools, _schema, arguments, 10)
    return {"toolset": toolset.digest, **found}


def module(known: Module, view: RunView, arguments: JsonObject) -> JsonObject:
    """Return the code and the configuration that decide the run."""
    spec = view.state.run_spec
    files = [(file.path, file) for file in known.manifests(spec.sources)]
    return {
        "release": {"began": view.release, "here": known.release},
        "package": known.package(),
        "python": known.python,
        "configuration": known.configuration,
        "provider": {"name": spec.provider, "wire": spec.wire, "libraries": known.libraries()},
        **_page("manifests", files, lambda path, file: file.facts, arguments, 50),
    }


def state(
    view: RunView, arguments: JsonObject, *, clean: Callable[[str], str] = lambda text: text
) -> JsonObject:
    """The member of the state at a pointer."""
    where = str(arguments.get("pointer", ""))
    found: Any = view.state.to_json()
    found["call_ids"] = sorted(call_id for ids in found["call_ids"] for call_id in ids)
    for step in _steps(where):
        found = _member(found, step, where)
    facts: JsonObject = {"pointer": where, "state": view.state.digest}
    if isinstance(found, str):
        return {**facts, **_range(clean(found), arguments)}
    if not isinstance(found, (dict, list)):
        return {**facts, "value": found}
    named = found.items() if isinstance(found, dict) else enumerate(found)
    members = [(str(name), member) for name, member in named]
    kind = "object" if isinstance(found, dict) else "array"
    return {**facts, "kind": kind, **_page("members", members, _described, arguments, 50)}


def journal_head(view: RunView, arguments: JsonObject) -> JsonObject:
    """The last record, or the records that follow one."""
    after = integer_in(arguments, "after")
    if after is None:
        return {"last": _line("", view.lines[-1])}
    lines = ((str(line.seq), line) for line in islice(view.lines, after, None))
    return page("records", lines, _line, integer_in(arguments, "limit") or 50)


# --- parts ------------------------------------------------------------------------------------


def _page(
    name: str,
    items: list[tuple[str, Any]],
    tell: Callable[[str, Any], JsonObject],
    arguments: JsonObject,
    limit: int,
) -> JsonObject:
    """A page of named items, after the one that the cursor names. Raises ToolRefusal for an
    unknown cursor."""
    start = 0
    if "cursor" in arguments:
        names = [item for item, _ in items]
        cursor = str(arguments["cursor"])
        if cursor not in names:
            raise ToolRefusal(f"The cursor {clip(cursor, 60)!r} names nothing here.")
        start = names.index(cursor) + 1
    return page(name, islice(items, start, None), tell, integer_in(arguments, "limit") or limit)


def _text(text: str) -> JsonObject:
    return {"characters": len(text), "digest": digest_of(text.encode())}


def _value(value: Value) -> JsonObject:
    """A value with its digest; one that is long is only described."""
    body = value.to_json()
    facts: JsonObject = {"digest": digest_of(value.identity())}
    size = len(canonical(body))
    return {**facts, "value": body} if size <= 4_000 else {**facts, "characters": size}


def _tool(_: str, tool: ToolDefinition) -> JsonObject:
    return {
        "name": tool.name,
        "backend": tool.backend,
        "origin": tool.origin,
        "effect": tool.effect,
        "risk": tool.risk,
        "human_approval": tool.human_approval,
        "timeout_ms": tool.timeout_ms,
        "digest": _digest(tool),
    }


def _schema(_: str, tool: ToolDefinition) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "digest": _digest(tool),
    }


def _digest(tool: ToolDefinition) -> str:
    return digest_of(canonical(tool.to_json()))  # schemas may hold floats


def _steps(pointer: str) -> list[str]:
    """The steps of a JSON Pointer. Raises Refusal for a text that is none."""
    if pointer and not pointer.startswith("/"):
        raise ToolRefusal(f"{pointer!r} is no JSON Pointer: one begins with '/'.", "invalid")
    return steps_of(pointer)


def _member(found: Any, step: str, pointer: str) -> Any:
    if isinstance(found, dict) and step in found:
        return found[step]
    if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
        return found[int(step)]
    known = f" Members: {', '.join(found)}." if isinstance(found, dict) else ""
    raise ToolRefusal(f"There is nothing at {pointer!r} in the state.{known}")


def _described(name: str, member: Any) -> JsonObject:
    text = canonical(member).decode()
    if len(text) <= MAX_INLINE:
        return {"name": name, "value": member}
    facts: JsonObject = {"name": name, "characters": len(text)}
    if isinstance(member, str):
        return {**facts, "kind": "string"}
    kind = "object" if isinstance(member, dict) else "array"
    return {**facts, "kind": kind, "count": len(member)}


def _range(text: str, arguments: JsonObject) -> JsonObject:
    """A part of a long text; its cursor is a number of characters."""
    cursor = str(arguments.get("cursor", "0"))
    start = int(cursor) if cursor.isdecimal() and len(cursor) < 12 else 0
    end = min(len(text), start + MAX_TEXT)
    facts: JsonObject = {"kind": "string", "characters": len(text), "text": text[start:end]}
    return {**facts, "next": str(end)} if end < len(text) else facts


def _line(_: str, line: EventLine | IntentLine) -> JsonObject:
    if isinstance(line, EventLine):
        facts: JsonObject = {"type": line.event.type, "at": line.event.at, "state": line.state}
    else:
        facts = {"type": line.intent.type, "intent": line.intent.n, "digest": line.digest}
    return {"seq": line.seq, "kind": line.kind, **facts}
