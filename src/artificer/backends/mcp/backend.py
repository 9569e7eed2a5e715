"""The backend of ``[mcp]``."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.backends.backend import Backend
from artificer.backends.context import ExecutorContext
from artificer.backends.mcp.spec.keys import McpKeys
from artificer.backends.mcp.spec.section import McpSection
from artificer.manifests.model import ManifestFile
from artificer.ports import Executor


def _executors(
    files: Sequence[ManifestFile[McpKeys]], context: ExecutorContext
) -> Sequence[Executor]:
    """One executor for each server that the manifests of a folder name."""
    return context.servers.wanted([file.manifest for file in files])


BACKEND = Backend(section=McpSection(), executors=_executors)
