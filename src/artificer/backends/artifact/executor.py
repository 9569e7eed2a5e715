"""The ``create_*`` tools, whose effect is a blob, and ``withdraw_artifact``, which has none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from artificer.artifacts import build_catalog, catalog, withdraw
from artificer.artifacts.ref import ArtifactRef
from artificer.backends.context import ExecutorContext
from artificer.contracts.definition import ToolDefinition
from artificer.ports import BlobStore, Call, Executor, Receipt
from artificer.values.base import JsonObject
from artificer.values.canon import canonical


class ArtifactExecutor:
    """Stores the payload of an artifact that has passed the gate."""

    def __init__(self, blobs: BlobStore, tools: tuple[ToolDefinition, ...]) -> None:
        """``tools`` are those that are offered: ``report_tools()``, or the one of a
        build's run.
        """
        self._blobs = blobs
        self._tools = tools

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The offered tools."""
        return self._tools

    async def execute(self, call: Call) -> Receipt:
        """Store what the arguments make, and say what it is."""
        name = call.definition.name
        if name == withdraw.NAME:
            gone = withdraw.withdrawal(call.arguments)
            content = canonical({"ok": True, "detail": withdraw.describe(gone)}).decode()
            return Receipt(status="ok", content=content, withdrawn=gone)
        data, detail = _made(name, call.arguments)
        payload = await asyncio.to_thread(self._blobs.put, data)
        kind, artifact_id, title = catalog.identity(name, call.arguments)
        ref = ArtifactRef(kind=kind, id=artifact_id, tool=name, title=title, payload=payload)
        content = canonical({"ok": True, "detail": detail}).decode()
        return Receipt(status="ok", content=content, artifact=ref)


def _made(tool: str, arguments: JsonObject) -> tuple[bytes, str]:
    """Return the bytes to store, and the text that the model reads about them.

    Of a deliverable's artifact the arguments are stored as they are; of a loop's, what children
    are made from: the stored form, with its format and every default.
    """
    if build_catalog.is_build_tool(tool):
        artifact = build_catalog.store(tool, arguments)
        return artifact.canonical(), build_catalog.describe(tool, artifact)
    return canonical(arguments), catalog.describe(tool, catalog.load(tool, arguments))


def executors(tools: tuple[ToolDefinition, ...], context: ExecutorContext) -> Iterable[Executor]:
    """Return the executor of a run's artifact tools."""
    yield ArtifactExecutor(context.blobs, tools)
