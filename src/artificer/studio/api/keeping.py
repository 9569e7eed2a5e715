"""Reports and recordings as files, proofs on request, and the tokens of the project."""

from __future__ import annotations

from functools import partial
from typing import Literal

from msgspec import Struct
from starlette.responses import Response

from artificer.errors import NotFoundError
from artificer.render.export.forms import ARTIFACT_FORMS, REPORT_FORMS, ArtifactFormat, ReportFormat
from artificer.studio.api.answers import (
    ReplayAnswer,
    TokenAnswer,
    TokenList,
    VerificationAnswer,
    token_answer,
)
from artificer.studio.api.comparing import NamedArtifact, VersionNumber
from artificer.studio.api.declared import ApiRequest
from artificer.studio.api.reading import run_of
from artificer.studio.tokens import ApiTokens
from artificer.studio.versions import version_of
from artificer.studio.views.files import report_file, sent

REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
)
"""For a report that a browser opens: it may run, load and send nothing, and is in no frame."""


class ReportQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The format of the report; a page is available before the run has ended."""

    format: Literal["html", "markdown"] = "html"


async def show_report(request: ApiRequest) -> Response:
    """Return the report of a run: a page at any time, Markdown once the run has ended."""
    run = await run_of(request)
    if request.query.format == "markdown":
        return Response(run.markdown, media_type="text/markdown")
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return Response(run.draft_html, media_type="text/html", headers=headers)


class ReportFileQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The format of the file."""

    format: ReportFormat = "pdf"


class ArtifactFileQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The artifact's id, as `kind:id` if two share it or for a ``version``; the format."""

    artifact: NamedArtifact
    format: ArtifactFormat = "json"
    version: VersionNumber | None = None


async def send_report(request: ApiRequest) -> Response:
    """Return the report of a run in a format of `artificer export`."""
    run, form = await run_of(request), request.query.format
    data, form = await request.context.exports.make(partial(report_file, run, form))
    return sent(data, f"{run.id}.{form}", REPORT_FORMS[form].media_type)


async def send_artifact(request: ApiRequest) -> Response:
    """Return an artifact of a run in a format of `artificer export`."""
    query: ArtifactFileQuery = request.query
    history = await request.world.archive.history(request.named("run"))
    if query.version is None:
        found = history.run.artifacts.find(query.artifact)
    else:
        found = version_of(history, query.artifact, str(query.version))
    data = await request.context.exports.make(partial(found.export, query.format))
    name = f"{found.id.rpartition('/')[2]}.{query.format}"
    return sent(data, name, ARTIFACT_FORMS[query.format].media_type)


async def export_run(request: ApiRequest) -> Response:
    """Return a run with all its blobs as one file for `artificer import`."""
    run = await run_of(request)
    exported = partial(request.world.archive.export_run, run.id)
    data = await request.context.exports.wait(exported)
    headers = {"Content-Disposition": 'attachment; filename="run.artificer"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


async def replay_run(request: ApiRequest) -> ReplayAnswer:
    """Reduce a run's journal again and compare every digest."""
    async with request.context.proving:
        found = await request.world.archive.replay(request.named("run"))
    return ReplayAnswer(found.identical, found)


async def verify_world(request: ApiRequest) -> VerificationAnswer:
    """Check every record, blob and workspace of the world."""
    async with request.context.proving:
        found = await request.world.archive.verify()
    return VerificationAnswer(found.sound, found)


async def list_tokens(request: ApiRequest) -> TokenList:
    """List the API tokens of the project."""
    return TokenList(tuple(map(token_answer, _tokens(request).all())))


async def revoke_token(request: ApiRequest) -> TokenAnswer:
    """Revoke an API token at once."""
    return token_answer(_tokens(request).revoke(request.named("token")))


def _tokens(request: ApiRequest) -> ApiTokens:
    tokens = request.context.tokens
    if tokens is None:
        raise NotFoundError("This studio has no tokens.")
    return tokens
