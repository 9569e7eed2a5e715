"""Performing the calls of tools that other MCP servers offer."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from artificer.backends.mcp.connection import LinkError, McpLink
from artificer.backends.mcp.messages import KEY_FACT, TOKEN_FACT, TRACE_FACT, CallFacts
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.envelope import McpEnvelope, McpOutcome, mcp_content
from artificer.backends.mcp.spec.tools import McpContract, RemoteFacts, RemoteTool, adopt
from artificer.backends.receipts import Began, Now, status_of
from artificer.backends.refusal import refuse
from artificer.contracts.arguments.bind import bind
from artificer.contracts.arguments.types import Argument
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.definition import toolset as toolset_of
from artificer.contracts.evidence import Stream
from artificer.contracts.schema import compile_schema
from artificer.contracts.scope import Scope
from artificer.errors import (
    ArtificerError,
    AuthorError,
    BugError,
    ConfigError,
    InvalidValueError,
    MissingExtraError,
)
from artificer.ports import Attachment, BlobStore, Call, Receipt
from artificer.ports.attachment import attachment_of
from artificer.ports.clock import wall_time
from artificer.values.base import JsonObject, JsonValue
from artificer.values.canon import canonical, digest_of
from artificer.values.exact_json import in_order
from artificer.values.text import well_formed

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock


MAX_BLOBS = 256
"""Images and the like that are kept of one result."""


@dataclass(frozen=True)
class McpTool:
    """A server's tool. One that a manifest declares has ``arguments`` and a ``field_map``."""

    tool: RemoteTool
    arguments: tuple[Argument, ...] | None = None
    field_map: Mapping[str, str] = field(default_factory=dict)
    scope: Scope | None = None


async def discover(
    link: McpLink, contract: McpContract, allow: Sequence[str] | None
) -> tuple[McpTool, ...]:
    """The tools that a server offers, in its order; only those of ``allow``, if it is given.

    Raises:
        ConfigError: the server cannot be reached, or offers a tool that cannot be used. Leaving
            a tool out silently would change what a run can do.
        MissingExtraError: the SDK is not installed.
    """
    name = link.server.name
    try:
        listed = await link.list_tools()
    except (LinkError, TimeoutError) as error:
        why = str(error) or "it did not answer in time"
        raise ConfigError(
            f"The MCP server {name!r} cannot be used: {why}.",
            hint=f"Check [mcp.servers.{name}] in artificer.toml, and the server itself.",
        ) from error
    kept = [tool for tool in listed if allow is None or tool.name in allow]
    absent = sorted({*(allow or ())} - {tool.name for tool in kept})
    if absent:
        offered = ", ".join(tool.name for tool in listed) or "none"
        raise ConfigError(
            f"The MCP server {name!r} has no tool {absent[0]!r}.", hint=f"It has: {offered}."
        )
    found = []
    clean: Callable[[Any], Any] = link.redactor.clean_value  # it has started: they are known now
    for tool in kept:
        try:
            facts = RemoteFacts(
                name=tool.name,
                description=clean(tool.description or ""),
                input_schema=clean(tool.input_schema),
                output_schema=clean(tool.output_schema),
            )
            found.append(McpTool(adopt(name, facts, contract)))
        except (ArtificerError, InvalidValueError) as error:
            raise ConfigError(
                f"The tool {tool.name!r} of the MCP server {name!r} cannot be used: {error}",
                hint=f"Leave it out: name those you want in [mcp.servers.{name}] allow = […].",
            ) from error
    return tuple(found)


def facts_of(call: Call, server: McpServer) -> CallFacts:
    """Return what tells a server's calls, their owners and their traces apart, if it may know."""
    facts: CallFacts = {}
    if server.fencing or call.definition.effect == "keyed":
        facts[KEY_FACT] = call.key
    if server.fencing:
        facts[TOKEN_FACT] = call.fencing_token
    if server.trace and (parent := call.monitor.traceparent()):
        facts[TRACE_FACT] = parent
    return facts


class McpExecutor:
    """Performs the calls of tools of one server. Images and the like are kept in ``blobs``, and
    attached to the result.
    """

    def __init__(
        self,
        link: McpLink,
        tools: Sequence[McpTool],
        *,
        blobs: BlobStore | None = None,
        now: Now = wall_time,
    ) -> None:
        """``now`` is the time of the evidence. Raises ToolDefinitionError when two tools share a
        name.
        """
        self._link = link
        self._tools = {tool.tool.definition.name: tool for tool in tools}
        self._definitions = toolset_of(tuple(tool.tool.definition for tool in tools)).tools
        self._blobs = blobs
        self._now = now

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the given order."""
        return self._definitions

    def needed_secrets(self, tool: str) -> Iterable[str]:
        """Return the names of the secrets of the connection (ports.NeedingSecrets)."""
        return self._link.server.needed_secrets

    async def execute(self, call: Call) -> Receipt:
        """Call the server's tool within the call's time; a dead server is an error receipt."""
        tool = self._tools.get(call.definition.name)
        if tool is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        arguments: JsonObject = call.arguments
        if tool.arguments is not None:
            bound = bind(tool.arguments, {}, call.arguments, tool.scope)
            if bound.problems:
                return refuse(call.definition.name, bound.problems)
            arguments = {tool.field_map.get(k, k): v for k, v in bound.values.items()}
        return await self._perform(call, tool.tool, arguments)

    async def _perform(self, call: Call, tool: RemoteTool, arguments: JsonObject) -> Receipt:
        began = Began.at(self._now)
        name, seconds = self._link.server.name, call.definition.timeout_ms / 1000
        status: McpOutcome = "error"
        outcome = _Outcome()
        try:
            facts = facts_of(call, self._link.server)
            result = await self._link.call(tool.remote, arguments, seconds, facts)
            outcome = await self._read(result, tool)
            fault = outcome.fault
            status = "error" if result.is_error or fault else "success"
        except TimeoutError:
            status, fault = "timeout", f"The MCP server {name!r} did not answer in {seconds:g} s."
        except LinkError as error:
            fault = f"The MCP server {name!r} failed: {error}."
        except (ConfigError, MissingExtraError) as error:
            fault = error.message
        text = outcome.text
        envelope = McpEnvelope(
            status=status,
            tool=call.definition.name,
            server=name,
            remote=tool.remote,
            output=Stream(text=text, size=len(text.encode("utf-8", "replace"))),
            output_hash=digest_of(text.encode("utf-8", "replace")) if text else None,
            blobs=outcome.blobs,
            notes=self._link.take_news(),
            duration_ms=began.duration_ms,
            timestamp=began.timestamp,
            fault=fault,
        )
        structured = outcome.structured if status == "success" else None
        return Receipt(
            status=status_of(status),
            content=mcp_content(envelope, structured),
            evidence=envelope.to_text(),
            attachments=outcome.attachments,
            data=outcome.data if status == "success" else None,
        )

    async def _read(self, result: CallToolResult, tool: RemoteTool) -> _Outcome:
        """Return a result's outcome: its structured content, if it has one, else its blocks."""
        found = _Found()
        texts = [await self._block(block, found) for block in result.content]
        text = self._link.redactor.clean(well_formed("\n".join(texts)))
        outcome = self._outcome(result, tool, text)
        outcome = replace(outcome, data=self._data(result, outcome))
        return replace(outcome, blobs=tuple(found.blobs), attachments=tuple(found.attachments))

    def _data(self, result: CallToolResult, outcome: _Outcome) -> str | None:
        """Return a result's data: its structured content, or one text block that is JSON.

        The SDK reads numbers as floats. A text block that says the same, as the protocol
        recommends, has them as the server wrote them.
        """
        texts = [block.text for block in result.content if block.type == "text"]
        exact = texts[0] if len(texts) == 1 and len(texts) == len(result.content) else ""
        found = None if exact[:1].strip() not in ("{", "[") else _read(exact)
        if outcome.structured is None:
            return None if found is None else self._link.redactor.clean(exact)
        if found is not None and found == result.structured_content:
            return self._link.redactor.clean(exact)
        structured = self._link.redactor.clean_value(result.structured_content)
        return in_order(canonical(outcome.structured).decode(), structured)

    def _outcome(self, result: CallToolResult, tool: RemoteTool, text: str) -> _Outcome:
        structured = self._link.redactor.clean_value(result.structured_content)
        if result.is_error or structured is None:
            missing = tool.output_schema is not None and not result.is_error
            fault = "It returned no structured content, as its schema says." if missing else None
            return _Outcome(text, None, fault)
        problems = compile_schema(tool.output_schema or {}).problems(structured)
        try:
            whole = canonical(structured).decode()
        except ArtificerError as error:
            return _Outcome(text, None, f"Its structured content is no JSON: {error}")
        if problems:
            first = "; ".join(f"{p.pointer or '/'} {p.message}" for p in problems[:10])
            return _Outcome(whole, None, f"The result breaks its schema: {first}")
        return _Outcome(whole, json.loads(whole))

    async def _block(self, block: ContentBlock, found: _Found) -> str:
        match block.type:
            case "text":
                return block.text
            case "image" | "audio":
                return await self._bytes(block.type, block.mime_type, block.data, found)
            case "resource_link":
                return f"[resource {block.uri}]"
            case "resource":
                held = block.resource
                if hasattr(held, "text"):
                    return f"[resource {held.uri}]\n{held.text}"
                return await self._bytes("resource", held.mime_type or "", held.blob, found)

    async def _bytes(self, kind: str, mime: str, data: str, found: _Found) -> str:
        try:
            decoded = base64.b64decode(data, validate=True)
        except ValueError:
            return f"[{kind} {mime}: not base64]"
        if self._blobs is None or len(found.blobs) == MAX_BLOBS:
            return f"[{kind} {mime}: {len(decoded)} bytes]"
        kept = self._link.redactor.clean_bytes(decoded)
        digest = await asyncio.to_thread(self._blobs.put, kept)
        found.blobs.append(digest)
        try:
            found.attachments.append(attachment_of(kept, mime))
        except AuthorError as error:
            return f"[{kind} {mime}: {len(kept)} bytes, {digest}, not shown: {error.message}]"
        return f"[{kind} {mime}: {len(kept)} bytes, {digest}]"


@dataclass(frozen=True)
class _Outcome:
    """A result, read."""

    text: str = ""
    structured: JsonValue = None
    fault: str | None = None
    blobs: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    data: str | None = None


def _read(text: str) -> JsonValue:
    """Return the value of JSON text, or None for any other text."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


@dataclass
class _Found:
    """The images and the like of a result, as digests and as attachments."""

    blobs: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
