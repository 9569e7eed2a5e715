"""Performing the calls of ``[http]`` tools: a request out, a receipt with evidence back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from artificer.backends.context import ExecutorContext
from artificer.backends.http.client import (
    MAX_BODY,
    HostResolver,
    NetworkScope,
    Received,
    SendError,
    make_ready,
    place_of,
    resolve_by_system,
    send,
)
from artificer.backends.http.spec.envelope import (
    HttpEnvelope,
    HttpOutcome,
    bare_http_content,
    http_content,
)
from artificer.backends.http.spec.request import BuiltRequest, HttpRequest, build_request, described
from artificer.backends.http.spec.template import FENCING_HEADER, TRACE_HEADER, HttpTemplate
from artificer.backends.probing import as_tool, call_of, probed_of
from artificer.backends.receipts import Began, Now, status_of
from artificer.backends.refusal import refuse
from artificer.backends.secrets.redaction import Redactor
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.definition import toolset as toolset_of
from artificer.contracts.evidence import MAX_EVIDENCE, Parsed, Stream
from artificer.errors import BugError, MissingExtraError
from artificer.manifests.keys import KEY_PLACE, TOKEN_PLACE
from artificer.manifests.model import Manifest, ManifestFile
from artificer.manifests.output import parse_output
from artificer.ports import BlobStore, Call, Executor, Preview, Probed, Receipt, SecretFinder
from artificer.ports.clock import wall_time
from artificer.secrets.resolver import ENVIRONMENT
from artificer.values.base import JsonObject
from artificer.values.text import clip

_COMPRESSED = "The server compressed the body, which it was not asked to."


class HttpExecutor:
    """Performs the calls of HTTP tools. Long bodies are kept in ``blobs``, if there are any."""

    def __init__(
        self,
        tools: Sequence[Manifest[HttpTemplate]],
        *,
        blobs: BlobStore | None = None,
        secrets: SecretFinder = ENVIRONMENT,
        resolve: HostResolver = resolve_by_system,
        now: Now = wall_time,
    ) -> None:
        """``secrets`` finds the values of references (default: in the environment), ``resolve``
        finds the addresses of hosts, ``now`` is the time of the evidence.

        Raises ToolDefinitionError when two tools share a name, and MissingExtraError when there
        is no HTTP client to perform them with.
        """
        if tools and find_spec("httpcore2") is None:
            raise MissingExtraError("http", needed_for="A tool with [http]")
        self._tools = {tool.definition.name: tool for tool in tools}
        self._definitions = toolset_of(tuple(tool.definition for tool in tools)).tools
        self._blobs = blobs
        self._resolve = resolve
        self._now = now
        self._secrets = secrets

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the given order."""
        return self._definitions

    def needed_secrets(self, tool: str) -> Iterable[str]:
        """Return the names of the secrets in a tool's request (ports.NeedingSecrets)."""
        return self._tools[tool].part.secrets

    def plan(self, call: Call) -> BuiltRequest:
        """The request that a call would send, its secrets still names, or why it would not."""
        return self._plan(self._tool(call), call)

    def preview(self, call: Call) -> Preview:
        """Return the request that a call would send (ports.Previewing)."""
        built = self.plan(call)
        request = built.request
        if request is None:
            return Preview({}, built.problems)
        shown: JsonObject = {"request": request.line}
        shown["headers"] = {name: described(value) for name, value in request.headers}
        if request.body is not None:
            shown["body"] = described(request.body)
        return Preview(shown)

    def _tool(self, call: Call) -> Manifest[HttpTemplate]:
        tool = self._tools.get(call.definition.name)
        if tool is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        return tool

    def _plan(self, tool: Manifest[HttpTemplate], call: Call) -> BuiltRequest:
        bound = tool.bind(call.arguments)
        if bound.problems:
            return BuiltRequest(problems=bound.problems)
        of_call: JsonObject = {KEY_PLACE: call.key, TOKEN_PLACE: call.fencing_token}
        return build_request(tool.part, {**bound.values, **of_call})

    async def execute(self, call: Call) -> Receipt:
        """Send the request within the call's time; a failing server is an error receipt."""
        return await self._send(self._tool(call), call)

    async def probe(self, call: Call) -> Probed:
        """Ask the manifest's probe whether the call had happened (ports.Probing)."""
        tool = self._tool(call)
        probe = tool.probe
        if probe is None:
            return Probed(found="unknown")
        asking = as_tool(tool, probe.form)
        receipt = await self._send(asking, call_of(asking, call))
        return probed_of(probe, receipt, "http_status", "body")

    async def _send(self, tool: Manifest[HttpTemplate], call: Call) -> Receipt:
        built = self._plan(tool, call)
        if built.request is None:
            return refuse(call.definition.name, built.problems)
        exchange = _Exchange(tool, call, built.request, self._blobs, self._now)
        return await exchange.run(self._secrets, self._resolve)


def executors(
    files: Sequence[ManifestFile[HttpTemplate]], context: ExecutorContext
) -> Iterable[Executor]:
    """Return one executor for the requests of a folder."""
    manifests = [file.manifest for file in files]
    yield HttpExecutor(
        manifests, blobs=context.clean_blobs, secrets=context.secrets, now=context.now
    )


def _own_headers(call: Call, *, traced: bool) -> tuple[tuple[str, str], ...]:
    """Return the headers by which a server tells calls, their owners and their traces apart."""
    own = []
    if call.definition.fenced or call.definition.effect == "keyed":
        own.append(("Idempotency-Key", call.key))
    if call.definition.fenced:
        own.append((FENCING_HEADER, str(call.fencing_token)))
    if traced and (parent := call.monitor.traceparent()):
        own.append((TRACE_HEADER, parent))
    return tuple(own)


class _Exchange:
    """One request and its response, on the way to a receipt."""

    def __init__(
        self,
        tool: Manifest[HttpTemplate],
        call: Call,
        request: HttpRequest,
        blobs: BlobStore | None,
        now: Now,
    ) -> None:
        self._tool = tool
        self._template = tool.part
        self._call = call
        self._request = request
        self._blobs = blobs
        self._received = Received()
        self._redactor = Redactor({})
        self._began = Began.at(now)

    async def run(self, secrets: SecretFinder, resolve: HostResolver) -> Receipt:
        """Send, read and judge."""
        seconds = self._call.definition.timeout_ms / 1000
        found = await secrets.found(self._request.secrets, seconds)
        if found.missing:
            return await self._receipt("error", f"Not sent: {found.missing}.", None)
        self._redactor = Redactor(found.values)
        try:
            async with asyncio.timeout(seconds):
                own = _own_headers(self._call, traced=self._template.trace)
                ready = make_ready(self._request, found.values, own)
                await send(ready, self._received, self._reach(ready.url, resolve))
        except TimeoutError:
            return await self._receipt("timeout", f"No full response within {seconds:g} s.", None)
        except SendError as error:
            return await self._receipt("error", str(error), None)
        return await self._judge()

    def _reach(self, url: str, resolve: HostResolver) -> NetworkScope:
        """Where the request may lead: an address that was held to a scope leads nowhere else."""
        private = place_of(url) if self._template.allow_private else None
        scope = self._tool.scope
        if scope is None or not self._tool.names_target or scope.refusal(url):
            return NetworkScope(private, resolve=resolve)
        return NetworkScope(private, scope.refusal, resolve)

    async def _judge(self) -> Receipt:
        status = self._received.status or 0
        if not self._template.succeeded(status):
            outcome: HttpOutcome = "error"
            if status >= 400:
                outcome = "client_error" if status < 500 else "server_error"
            fault = f"The server answered {status}."
            if self._received.compressed:
                fault = f"{fault} {_COMPRESSED}"
            return await self._receipt(outcome, fault, None)
        if self._received.compressed:
            return await self._receipt("error", _COMPRESSED, None)
        parsed = await asyncio.to_thread(  # some formats take seconds for the longest body
            parse_output, self._tool.output, self._text(), complete=self._received.complete
        )
        if parsed is not None and parsed.fault:
            return await self._receipt("error", parsed.fault, parsed)
        return await self._receipt("success", None, parsed)

    def _text(self) -> str:
        text = self._redactor.clean(self._received.text)
        if not self._received.complete and self._redactor.longest:
            text = text[: -self._redactor.longest]  # the beginning of a secret may stand there
        return text

    async def _receipt(
        self, outcome: HttpOutcome, fault: str | None, parsed: Parsed | None
    ) -> Receipt:
        received = self._received
        text = self._text()
        blob = None
        if self._blobs is not None and len(text) > MAX_EVIDENCE:
            blob = await asyncio.to_thread(self._blobs.put, text.encode("utf-8", "replace"))
        cut = len(received.body) >= MAX_BODY
        cut_short = received.status is not None and not received.complete
        if cut and fault is None:
            fault = f"The body is longer than {MAX_BODY} bytes; this is its beginning."
        envelope = HttpEnvelope(
            status=outcome,
            tool=self._call.definition.name,
            request=self._request.line,
            http_status=received.status,
            content_type=clip(self._redactor.clean(received.content_type), 200),
            body=Stream(text=text, size=len(received.body), truncated=cut_short),
            output_hash=received.digest if received.status else None,
            blob=blob,
            duration_ms=self._began.duration_ms,
            timestamp=self._began.timestamp,
            fault=None if fault is None else self._redactor.clean(fault),
        )
        return Receipt(
            status=status_of(outcome),
            content=(
                http_content(envelope, parsed)
                if self._tool.output.envelope
                else bare_http_content(envelope, parsed)
            ),
            evidence=envelope.to_text(),
            data=self._data(parsed) if outcome == "success" else None,
        )

    def _data(self, parsed: Parsed | None) -> str | None:
        """Return a whole body that the manifest's format reads, or that the server calls JSON."""
        if parsed is not None or not self._received.complete:
            return None if parsed is None else parsed.data
        kind = self._received.content_type.partition(";")[0].strip().lower()
        return self._text() if kind.endswith(("/json", "+json")) else None
