"""The resources of an MCP client: manifests, the evidence of its calls, and their reports.

A client reads only those blobs of the world that such evidence cites: a digest alone opens nothing.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from artificer.cli.mcp.apps import APP, MIME_TYPE, REPORT, REPORT_KEY, UI, app_page
from artificer.contracts.evidence import kept_by
from artificer.core.events import ToolReturned
from artificer.core.record import events_of
from artificer.errors import NotFoundError
from artificer.ports import BlobStore
from artificer.runs import History, Run
from artificer.values.strict_json import parse_object

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.types import (
        ListResourcesResult,
        ListResourceTemplatesResult,
        ReadResourceRequestParams,
        ReadResourceResult,
    )

MAX_RUNS = 200
"""Limit on the newest calls whose evidence is kept in memory."""

MAX_BLOB = 8 * 1024 * 1024
"""Limit on the bytes of a blob."""

MANIFEST, EVIDENCE, BLOB = "artificer://manifest/", "artificer://evidence/", "artificer://blob/"

EVIDENCE_KEY = "artificer/evidence"
"""Where a result names the resource that is the evidence of its call, in ``_meta``."""


class Resources:
    """The resources of a server. ``manifests`` are the texts of the files, by their tools.

    ``makes_reports`` says whether it has tools whose results are reports.
    """

    def __init__(
        self, manifests: Mapping[str, str], blobs: BlobStore, *, makes_reports: bool = False
    ) -> None:
        self._makes_reports = makes_reports
        self._manifests = dict(manifests)
        self._blobs = blobs
        self._evidence: OrderedDict[str, str] = OrderedDict()
        self._cited: dict[str, frozenset[str]] = {}
        self._reports: dict[str, Run[Any]] = {}

    def put(self, run: str, history: History) -> dict[str, str]:
        """Keep the evidence of a call in memory, and its report; return their addresses."""
        returned = [e for e in events_of(history.lines) if isinstance(e, ToolReturned)]
        envelopes = [parse_object(event.evidence) for event in returned if event.evidence]
        found = [envelope for envelope in envelopes if isinstance(envelope, dict)]
        cited = {event.whole for event in returned if event.whole}
        cited |= {digest for envelope in found for digest in kept_by(envelope)}
        self._evidence[run] = json.dumps(found, ensure_ascii=False, indent=1)
        self._cited[run] = frozenset(cited)
        while len(self._evidence) > MAX_RUNS:
            oldest, _ = self._evidence.popitem(last=False)
            del self._cited[oldest]
            self._reports.pop(oldest, None)
        names = {EVIDENCE_KEY: EVIDENCE + run}
        if history.run.state.artifacts and history.run.deliverable is not None:
            self._reports[run] = history.run
            names[REPORT_KEY] = REPORT + run
        return names

    async def list(self, ctx: object, params: object) -> ListResourcesResult:
        """Perform ``resources/list``."""
        from mcp.types import ListResourcesResult, Resource

        manifests = [
            Resource(
                uri=MANIFEST + name,
                name=f"manifest of {name}",
                description="The file that declares this tool.",
                mime_type="application/toml",
                size=len(text.encode()),
            )
            for name, text in self._manifests.items()
        ]
        evidence = [
            Resource(
                uri=EVIDENCE + run,
                name=f"evidence of {run}",
                description="The recorded evidence of the call in this run.",
                mime_type="application/json",
                size=len(text.encode()),
            )
            for run, text in reversed(self._evidence.items())
        ]
        app = Resource(
            uri=APP,
            name="report of a result",
            description="Shows the report that a result of a create_* tool names.",
            mime_type=MIME_TYPE,
            _meta=UI,
        )
        reports = [
            Resource(
                uri=REPORT + run,
                name=f"report of {run}",
                description="The report of the call in this run.",
                mime_type=MIME_TYPE,
                _meta=UI,
            )
            for run in reversed(self._reports)
        ]
        apps = [app, *reports] if self._makes_reports else []
        return ListResourcesResult(resources=[*manifests, *evidence, *apps])

    async def templates(self, ctx: object, params: object) -> ListResourceTemplatesResult:
        """Perform ``resources/templates/list``."""
        from mcp.types import ListResourceTemplatesResult, ResourceTemplate

        report = (REPORT + "{run}", "report", "The report of a run's call.")
        kinds = (
            (MANIFEST + "{tool}", "manifest", "The file that declares a tool."),
            (EVIDENCE + "{run}", "evidence", "The evidence of a run's call."),
            (BLOB + "{digest}", "blob", "Output or a picture that evidence cites."),
            *([report] if self._makes_reports else []),
        )
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(uri_template=uri, name=name, description=description)
                for uri, name, description in kinds
            ]
        )

    async def read(
        self, ctx: ServerRequestContext[Any, Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """Perform ``resources/read``. Raises MCPError for other resources."""
        from mcp import MCPError
        from mcp.types import (
            INVALID_PARAMS,
            BlobResourceContents,
            ReadResourceResult,
            TextResourceContents,
        )

        uri = str(params.uri)
        page = await self._page(uri)
        if page is not None:
            shown = TextResourceContents(uri=uri, mime_type=MIME_TYPE, text=page, _meta=UI)
            return ReadResourceResult(contents=[shown])
        text = self._text(uri)
        if text is not None:
            mime = "application/toml" if uri.startswith(MANIFEST) else "application/json"
            found = TextResourceContents(uri=uri, mime_type=mime, text=text)
            return ReadResourceResult(contents=[found])
        data = self._blob(uri)
        if data is None:
            raise MCPError(INVALID_PARAMS, f"There is no resource {uri[:200]!r}.")
        held = base64.b64encode(data).decode()
        blob = BlobResourceContents(uri=uri, mime_type="application/octet-stream", blob=held)
        return ReadResourceResult(contents=[blob])

    async def _page(self, uri: str) -> str | None:
        """The app, or the report of a call."""
        if uri == APP:
            return app_page()
        run = self._reports.get(uri.removeprefix(REPORT)) if uri.startswith(REPORT) else None
        page = None if run is None else await asyncio.to_thread(lambda: run.html)
        return page if page is None or len(page.encode()) <= MAX_BLOB else None

    def _text(self, uri: str) -> str | None:
        if uri.startswith(MANIFEST):
            return self._manifests.get(uri.removeprefix(MANIFEST))
        if uri.startswith(EVIDENCE):
            return self._evidence.get(uri.removeprefix(EVIDENCE))
        return None

    def _blob(self, uri: str) -> bytes | None:
        digest = uri.removeprefix(BLOB)
        if not any(digest in cited for cited in self._cited.values()):
            return None
        try:
            data = self._blobs.get(digest)
        except NotFoundError:
            return None
        return data if len(data) <= MAX_BLOB else None
