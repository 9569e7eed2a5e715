"""The ``create_*`` tools: their effect is a blob."""

from __future__ import annotations

import asyncio

from artificer.artifacts import catalog
from artificer.artifacts.ref import ArtifactRef
from artificer.contracts.definition import ToolDefinition
from artificer.ports import BlobStore, Call, Receipt
from artificer.values.canon import canonical


class ArtifactExecutor:
    """Stores the payload of an artifact that has passed the gate."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The eleven tools of seed 002."""
        return catalog.TOOLS

    async def execute(self, call: Call) -> Receipt:
        """Store the arguments as canonical JSON and say how to cite what they make."""
        name = call.definition.name
        payload = await asyncio.to_thread(self._blobs.put, canonical(call.arguments))
        kind, artifact_id, title = catalog.identity(name, call.arguments)
        ref = ArtifactRef(kind=kind, id=artifact_id, tool=name, title=title, payload=payload)
        detail = catalog.describe(name, catalog.load(name, call.arguments))
        content = canonical({"ok": True, "detail": detail}).decode()
        return Receipt(status="ok", content=content, artifact=ref)
