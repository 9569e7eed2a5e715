"""The workspaces of a world."""

from __future__ import annotations

from artificer.backends.workspace.service import Workspaces
from artificer.ports import BlobStore, Versions
from artificer.system import SystemClock


def build_workspaces(blobs: BlobStore, versions: Versions) -> Workspaces:
    """Return the workspaces that a world's storage keeps."""
    return Workspaces(blobs, versions, SystemClock().now)
