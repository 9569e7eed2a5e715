"""Finding problems in workspaces: broken chains, unreadable trees, lost files."""

from __future__ import annotations

from collections.abc import Iterator

from artificer.backends.workspace.service import Workspaces
from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.version import Version
from artificer.errors import NotFoundError, TamperedError
from artificer.ports import BlobStore


def audit(workspaces: Workspaces) -> list[str]:
    """Return the faults, one sentence each. The bytes of files are not read."""
    problems: list[str] = []
    seen: set[str] = set()
    try:
        names = workspaces.names()
    except TamperedError as error:
        return [error.message]
    for name in names:
        try:
            for version in workspaces.log(name):
                problems += _faults(workspaces.blobs, version, seen)
        except (NotFoundError, TamperedError) as error:
            problems.append(error.message)
    return problems


def _faults(blobs: BlobStore, version: Version, seen: set[str]) -> Iterator[str]:
    where = f"Version {version.number} of {version.workspace!r}"
    waiting = [version.root]
    while waiting:
        digest = waiting.pop()
        if digest in seen:
            continue
        seen.add(digest)
        try:
            node = tree.load(blobs.get, digest)
        except (NotFoundError, TamperedError) as error:
            yield f"{where} cannot be read: {error.message}"
            continue
        for entry in node.entries.values():
            if isinstance(entry, tree.Directory):
                waiting.append(entry.digest)
            elif entry.digest not in seen:
                seen.add(entry.digest)
                if not blobs.has(entry.digest):
                    yield f"{where} lacks the blob {entry.digest} of a file."
