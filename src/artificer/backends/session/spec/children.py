"""Finding the manifests of child sessions, in the folder of the sessions that open them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from artificer.backends.session.spec.commands import SessionContract, child_faults
from artificer.backends.session.spec.keys import SessionKeys
from artificer.manifests.model import Manifest, ManifestFile


@dataclass(frozen=True)
class SessionPart:
    """The keys of a session, and the contract of the session that it opens."""

    keys: SessionKeys
    child: SessionContract | None = None


def with_children(
    files: Sequence[ManifestFile[Any]],
) -> tuple[list[ManifestFile[Any]], list[str]]:
    """Return the files of a folder, sessions with their children; and what is wrong with these.

    A child's file is looked for by its name alone, in the folder. A session that only another one
    opens is not a tool by itself.
    """
    by_file = {_name(each.file): each for each in files}
    linked: list[ManifestFile[Any]] = []
    faults: list[str] = []
    children = {name for each in files if (name := _child_file(each))}
    for each in files:
        session, child_file = _session(each.manifest), _child_file(each)
        if session is not None and not session.startup_command:
            if _name(each.file) not in children:
                faults.append(
                    f"{each.file}: session.startup_command: is missing: only a session that "
                    "another one opens has none"
                )
            continue
        if session is None or child_file is None:
            linked.append(each)
            continue
        child = by_file.get(child_file)
        contract = None if child is None else _contract(child.manifest)
        faults += [
            f"{each.file}: session.child_detection.manifest: {reason}"
            for reason in _faults(each, child, contract, child_file)
        ]
        if child is not None:
            part = SessionPart(session, contract)
            linked.append(ManifestFile(replace(each.manifest, part=part), each.file))
    return linked, faults


def _session(manifest: Manifest[Any]) -> SessionKeys | None:
    return manifest.part.keys if isinstance(manifest.part, SessionPart) else None


def _contract(manifest: Manifest[Any]) -> SessionContract | None:
    session = _session(manifest)
    return None if session is None else SessionContract(manifest.tool, session)


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _child_file(file: ManifestFile[Any]) -> str | None:
    session = _session(file.manifest)
    detection = session.child_detection if session else None
    return _name(detection.manifest) if detection else None


def _faults(
    parent: ManifestFile[Any],
    child: ManifestFile[Any] | None,
    contract: SessionContract | None,
    file: str,
) -> Iterator[str]:
    if child is None:
        yield f"there is no {file} in this folder"
    elif contract is None:
        yield f"{file} has no [session]"
    else:
        for reason in child_faults(parent.manifest.tool, contract):
            yield f"{file} {reason}"
