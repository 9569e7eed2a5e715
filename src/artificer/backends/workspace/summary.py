"""Summaries of workspaces for a model, and the reading of its arguments."""

from __future__ import annotations

import base64
import binascii

from artificer.artifacts.names import is_gits, is_gits_head
from artificer.backends.answer import ToolRefusal, integer_in
from artificer.backends.workspace.service import Resolved, VersionConflict
from artificer.backends.workspace.spec.tree import Directory, TreeChange, TreeFile
from artificer.contracts.workspace_names import file_name_of, is_mark, path_fault
from artificer.values.base import JsonObject, JsonValue


def facts_of(found: Resolved) -> JsonObject:
    """Return which tree was read: the version or the draft that a name led to."""
    return {
        "workspace": found.workspace,
        "version": found.version,
        "draft": found.draft,
        "head": found.head,
        "root": found.root,
    }


def in_words(found: Resolved) -> str:
    """Name the version or the draft in words."""
    if found.draft:
        return f"your draft of {found.workspace!r}"
    return f"version {found.version} of {found.workspace!r}"


def entry(path: str, found: TreeFile | Directory) -> JsonObject:
    """A line of a listing."""
    if isinstance(found, Directory):
        return {"path": path, "kind": "dir"}
    return {
        "path": path,
        "kind": "file",
        "mode": found.mode,
        "size": found.size,
        "digest": found.digest,
    }


def change(path: str, found: TreeChange) -> JsonObject:
    """A line of a comparison."""
    return {
        "path": path,
        "change": found.word,
        "before": _side(found.before),
        "after": _side(found.after),
    }


def _side(found: TreeFile | Directory | None) -> JsonValue:
    if found is None:
        return None
    if isinstance(found, Directory):
        return "empty directory"
    return {"mode": found.mode, "size": found.size, "digest": found.digest}


def conflict(name: str, found: VersionConflict) -> JsonObject:
    """Why nothing was committed, and what to do about it."""
    facts: JsonObject = {"expected": found.expected, "actual": found.actual}
    if found.changed:
        facts["changed"] = list(found.changed)
    if found.both:
        facts["both"] = list(found.both)
    if found.reason:
        detail = f"Your files cannot be put on version {found.actual}: {found.reason}."
    else:
        detail = (
            f"The head is version {found.actual}. Look at what others have changed, correct your "
            f"draft where `both` says so, and commit with expected {found.actual}: of a path in "
            "`both`, your file stays."
        )
    return {"workspace": name, "committed": False, "conflict": facts, "detail": detail}


def content(data: bytes, offset: int, *, ends: bool) -> tuple[JsonObject, int]:
    """A range of a file as text, or else in base64, and where that range ends.

    A character that the range would cut is left for the next one. ``ends`` says that the file ends
    where the range does.
    """
    for missing in range(1 if ends else min(4, len(data))):
        whole = data[: len(data) - missing]
        try:
            text = whole.decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return {"text": text}, offset + len(whole)
    return {"base64": base64.b64encode(data).decode()}, offset + len(data)


def bytes_of(file: JsonObject) -> bytes | None:
    """The bytes that a file of a call is to have; None unless it says them in just one way."""
    text, encoded = file.get("text"), file.get("base64")
    if (text is None) == (encoded is None):
        return None
    try:
        return (
            str(text).encode()
            if text is not None
            else base64.b64decode(str(encoded), validate=True)
        )
    except (ValueError, binascii.Error):
        return None


def write_fault(path: str) -> str:
    """Return why a run may not write a file, or nothing: once it is checked out, git would run it,
    in any spelling, or it would be in the place of the folder's mark.
    """
    parts = [] if path_fault(path) else path.split("/")
    names = [file_name_of(part).decode("utf-8", "ignore") for part in parts]
    if any(map(is_gits, names)):
        return "must not lead into .git: git would run the programs that it names"
    if any(map(is_gits_head, names[-1:])):
        return "must not be HEAD: git may take its folder for a repository, and run its programs"
    if is_mark(path):
        return "is where a folder remembers what was checked out into it"
    return ""


def path_in(arguments: JsonObject) -> str:
    """The path that a call names; empty for the whole. Raises Refusal."""
    path = str(arguments.get("path", ""))
    if path and (fault := path_fault(path)):
        raise ToolRefusal(f"The path {path!r} {fault}.", "invalid")
    return path


def limit_in(arguments: JsonObject) -> int:
    """How many items a page may have."""
    return integer_in(arguments, "limit") or 100
