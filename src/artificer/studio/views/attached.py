"""The files of a conversation: each with a preview, and to be saved."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from artificer.errors import NotFoundError
from artificer.runs import History
from artificer.studio.context import history_of
from artificer.studio.pages import page
from artificer.studio.previews import PICTURES, AttachedFile, attached_files, preview
from artificer.studio.views.files import sent


async def show(request: Request) -> Response:
    """Show a file of the conversation."""
    history, file = await _file(request)
    data = await asyncio.to_thread(history.data, file.block.digest)
    parts = await asyncio.to_thread(preview, file, data, request.query_params)
    values = {"run": history.run, "file": file, "preview": parts, "size": len(data)}
    return page(request, "attached", values)


async def send(request: Request) -> Response:
    """Send a file of the conversation, which a browser saves; an image it may show in a page."""
    history, file = await _file(request)
    data = await asyncio.to_thread(history.data, file.block.digest)
    known = file.block.media_type
    media_type = known if known in PICTURES else "application/octet-stream"
    return sent(data, safe_name(file.name), media_type)


async def _file(request: Request) -> tuple[History, AttachedFile]:
    """Return a file by its digest: only those of this run can be read."""
    history, digest = await history_of(request), request.path_params["digest"]
    found = next((f for f in attached_files(history.run) if f.block.digest == digest), None)
    if found is None:
        raise NotFoundError("The conversation has no such file.")
    return history, found


def safe_name(name: str) -> str:
    """Return the name of a file without folders and without what a system may not take."""
    leaf = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(c if c.isprintable() and c not in '<>:"|?*' else "_" for c in leaf)
    return kept.strip(". ")[:120] or "file"
