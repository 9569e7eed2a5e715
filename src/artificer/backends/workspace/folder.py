"""Workspaces as folders: checking out a version, and committing the changed folder.

A folder remembers in its own file what was checked out, so that committing it is held against
that version. Symbolic links, sockets and devices are skipped and reported to the caller.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from artificer.backends.workspace.service import Resolved, VersionConflict, Workspaces
from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.edits import Edit, MakeDirectory, Put, apply
from artificer.backends.workspace.spec.version import Version
from artificer.contracts.workspace_names import (
    FRESH_MARK,
    MARK,
    file_name_of,
    is_mark,
    name_fault,
    path_fault,
    segment_of,
)
from artificer.errors import InvalidValueError, OperatorError
from artificer.values.base import Value

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_FILES = 100_000

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class CheckedOut(Value):
    """The content of the folder's mark.

    ``pending`` is the key of a commit on top of ``version`` that was begun. The workspace says
    whether it was made: a process may have died before it could be noted here.
    """

    workspace: str
    version: int
    pending: str = ""


@dataclass(frozen=True)
class FolderCommit:
    """The outcome of committing a folder. No ``version``: the folder equals the head."""

    version: Version | None = None
    conflict: VersionConflict | None = None
    skipped: tuple[str, ...] = ()


def check_out(
    workspaces: Workspaces, name: str, folder: Path, version: int | None = None
) -> Resolved:
    """Write a version's files into an empty or new folder.

    Raises:
        NotFoundError: the version does not exist.
        OperatorError: the folder is not empty, or cannot be written.
    """
    found = workspaces.must_resolve(name, version)
    with _os_errors(folder):
        _require_no_link(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise OperatorError(f"{folder} is not empty.", hint="Check out into a new folder.")
        root = os.open(folder, _DIRECTORY)
        try:
            entries = tree.load(workspaces.blobs.get, found.root).entries
            files = {name: entry for name, entry in entries.items() if not is_mark(name)}
            _write_entries(workspaces, files, root)
            _mark(root, CheckedOut(workspace=name, version=found.version))
        finally:
            os.close(root)
    return found


def commit_folder(
    workspaces: Workspaces,
    name: str,
    folder: Path,
    *,
    expected: int | None = None,
    message: str = "",
) -> FolderCommit:
    """Make a folder's files the next version of a workspace.

    ``expected`` is the head that they are based on; without it, what was checked out into the
    folder, or 0 for a workspace that is not there yet.

    Raises:
        OperatorError: nobody says which version the folder is based on; it cannot be read, or
            holds more than a workspace may.
    """
    if fault := name_fault(name):
        raise OperatorError(
            f"The workspace's name {name!r} {fault}.",
            hint="Choose another name; docs/guides/workspaces.md lists the rules.",
        )
    with _os_errors(folder):
        _require_no_link(folder)
        root = os.open(folder, _DIRECTORY)
        try:
            base, own = _base(workspaces, name, root, expected)
            files, skipped = _read_folder(workspaces, root)
            applied = apply(workspaces.blobs.get, tree.EMPTY, files)
            if applied.problems:
                problem = applied.problems[0]
                path = files[int(problem.pointer)].path
                raise OperatorError(f"{folder} cannot be stored: {path} {problem.message}.")
            workspaces.keep(applied)
            head = workspaces.resolve(name)
            if own is not None:
                _mark(root, CheckedOut(workspace=name, version=base))
                if own.root == applied.root:
                    return FolderCommit(version=own, skipped=skipped)
            if head is not None and (head.version, head.root) == (base, applied.root):
                return FolderCommit(skipped=skipped)
            key, before = secrets.token_hex(16), _read_mark(root)
            _mark(root, CheckedOut(workspace=name, version=base, pending=key))
            outcome = workspaces.commit(name, applied.root, expected=base, message=message, key=key)
            if isinstance(outcome, VersionConflict):
                _mark(root, before)
                return FolderCommit(conflict=outcome, skipped=skipped)
            _mark(root, CheckedOut(workspace=name, version=outcome.number))
            return FolderCommit(version=outcome, skipped=skipped)
        finally:
            os.close(root)


def _require_no_link(folder: Path) -> None:
    """Raise OperatorError for a link to a folder: who made it chose where it leads."""
    if folder.is_symlink():
        raise OperatorError(f"{folder} is a link.", hint=f"Name the folder: {folder.resolve()}")


def _base(
    workspaces: Workspaces, name: str, root: int, expected: int | None
) -> tuple[int, Version | None]:
    """The version that the folder is based on; and that version, if a commit of this folder made
    it whose process died before the folder knew."""
    known = _read_mark(root)
    mine = known if known is not None and known.workspace == name else None
    if mine is not None and mine.pending and expected in (None, mine.version):
        made = workspaces.version(name, mine.version + 1)
        if made is not None and made.key == mine.pending:
            return made.number, made
    if expected is not None:
        return expected, None
    if mine is not None:
        return mine.version, None
    head = workspaces.head(name)
    if head == 0:
        return 0, None
    raise OperatorError(
        f"This folder was not checked out of {name!r}, whose head is version {head}.",
        hint=f"To replace that version with its files: --expected {head}.",
    )


def _write_entries(
    workspaces: Workspaces, entries: Mapping[str, tree.TreeEntry], handle: int
) -> None:
    for segment, entry in entries.items():
        name = file_name_of(segment)
        if isinstance(entry, tree.Directory):
            os.mkdir(name, dir_fd=handle)
            inner = os.open(name, _DIRECTORY, dir_fd=handle)
            try:
                within = tree.load(workspaces.blobs.get, entry.digest).entries
                _write_entries(workspaces, within, inner)
            finally:
                os.close(inner)
        else:
            _write_file(name, workspaces.blobs.get(entry.digest), int(entry.mode, 8), handle)


def _write_file(name: bytes | str, data: bytes, mode: int, handle: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, mode, dir_fd=handle), "wb") as file:
        file.write(data)


def _read_folder(workspaces: Workspaces, root: int) -> tuple[list[Edit], tuple[str, ...]]:
    edits: list[Edit] = []
    skipped: list[str] = []
    for path, found in _scan(root, (), skipped):
        if fault := path_fault(path):
            raise OperatorError(f"{path} {fault}.", hint="Rename it or move it out of the folder.")
        edits.append(
            MakeDirectory(path)
            if found is None
            else Put(path, workspaces.blobs.put(found[0]), len(found[0]), found[1])
        )
        if len(edits) > MAX_FILES:
            raise OperatorError(
                f"The folder holds more than {MAX_FILES} files.",
                hint="Commit a smaller folder, or use several workspaces.",
            )
    return edits, tuple(skipped)


def _scan(
    handle: int, parts: tuple[str, ...], skipped: list[str]
) -> Iterator[tuple[str, tuple[bytes, tree.FileMode] | None]]:
    """Every file with its bytes and mode, and every directory with None."""
    for name in sorted(os.listdir(handle)):
        if not parts and is_mark(name):
            continue
        path = (*parts, segment_of(os.fsencode(name)))
        try:
            opened = os.open(name, _READ, dir_fd=handle)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EOPNOTSUPP):
                raise
            skipped.append("/".join(path))
            continue
        try:
            status = os.fstat(opened)
            if stat.S_ISDIR(status.st_mode):
                yield "/".join(path), None
                yield from _scan(opened, path, skipped)
            elif stat.S_ISREG(status.st_mode):
                mode: tree.FileMode = "0755" if status.st_mode & stat.S_IXUSR else "0644"
                yield "/".join(path), (_bytes(opened, "/".join(path)), mode)
            else:
                skipped.append("/".join(path))
        finally:
            os.close(opened)


def _bytes(opened: int, path: str) -> bytes:
    with os.fdopen(os.dup(opened), "rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise OperatorError(
            f"{path} has more than {MAX_FILE_BYTES} bytes.", hint="Move it out of the folder."
        )
    return data


def _mark(root: int, known: CheckedOut | None) -> None:
    """Write the mark: a new file that takes the old one's place, durably. None removes it."""
    with suppress(FileNotFoundError):  # left by a process that died here
        os.unlink(FRESH_MARK, dir_fd=root)
    if known is None:
        with suppress(FileNotFoundError):
            os.unlink(MARK, dir_fd=root)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(FRESH_MARK, flags, 0o644, dir_fd=root), "wb") as file:
        file.write(known.canonical() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(FRESH_MARK, MARK, src_dir_fd=root, dst_dir_fd=root)
    os.fsync(root)


def _read_mark(root: int) -> CheckedOut | None:
    try:
        handle = os.open(MARK, _READ, dir_fd=root)
    except OSError:
        return None
    try:
        return CheckedOut.read(os.read(handle, 4096))
    except (OSError, InvalidValueError):  # a pipe or a directory can have the name too
        return None
    finally:
        os.close(handle)


@contextmanager
def _os_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else folder
        raise OperatorError(f"{where}: {error.strerror or error}.") from error
