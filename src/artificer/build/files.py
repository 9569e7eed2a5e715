"""The files of a worktree as tools: what a run of a build reads, and a code run changes.

Every path is looked up beneath the worktree in one step of the kernel's, so that no link leads out,
whoever changes links meanwhile; and none leads into ``.git``.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from artificer.artifacts.names import MAX_PATH, path_fault
from artificer.build.scope import MAX_FILE
from artificer.contracts.definition import EffectClass, ToolDefinition, open_object
from artificer.errors import BugError
from artificer.loops.table import Means
from artificer.ports import Call, Receipt
from artificer.tools.answer import Refusal, page, receipt_of
from artificer.tools.beneath import opened_beneath
from artificer.tools.to_the_end import to_the_end
from artificer.values.base import JsonObject, Problem
from artificer.values.text import clip

MAX_READ = 24_000
"""Characters of one reading."""

MAX_LISTED = 500
MAX_MATCHES = 100
MAX_SEARCHED = 20_000
"""Files that one search looks into."""

_PASSED_OVER = frozenset({".git", "node_modules", ".venv", "venv", "target", "__pycache__"})
"""Folders that no listing and no search goes into: what is in them is nobody's work."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class WorktreeFiles:
    """Performs the file tools on one worktree; ``means`` says which of them are offered."""

    def __init__(self, root: Path, means: frozenset[Means]) -> None:
        self._root = root
        self._works: dict[str, Callable[[JsonObject], JsonObject]] = {
            "files.list": self._list,
            "files.read": self._read,
            "files.search": self._search,
            "files.write": self._write,
            "files.edit": self._edit,
            "files.remove": self._remove,
        }
        self._definitions = tuple(tool for need, tool in _TOOLS if need in means)

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The offered tools."""
        return self._definitions

    async def execute(self, call: Call) -> Receipt:
        """Perform a call."""
        name = call.definition.name
        if name not in {tool.name for tool in self._definitions}:
            raise BugError(f"This executor has no tool {name!r}.")
        return await to_the_end(partial(receipt_of, name, partial(self._told, name, call)))

    def _told(self, name: str, call: Call) -> JsonObject:
        path = call.arguments.get("path", "")
        fault = path_fault(str(path).rstrip("/")) if path else None
        if fault:
            problem = Problem(pointer="/path", message=fault, actual=clip(str(path), 80))
            raise Refusal("this path cannot be used", "invalid", (problem,))
        try:
            return self._works[name](call.arguments)
        except OSError as error:
            raise Refusal(f"{path or 'the project'}: {error.strerror or error}.") from error

    # --- reading --------------------------------------------------------------------------------

    def _list(self, asked: JsonObject) -> JsonObject:
        after = str(asked.get("cursor", ""))
        under = str(asked.get("path", "")).rstrip("/")
        names = (name for name in self._walk(under) if name > after)
        return page("files", ((name, name) for name in names), _entry, MAX_LISTED)

    def _walk(self, under: str) -> Iterator[str]:
        """Every file below a folder, in the order of its path; links are not followed."""
        top = self._root / under
        if under:
            with opened_beneath(self._root, under, follow=False) as found:
                if not stat.S_ISDIR(os.fstat(found).st_mode):
                    raise Refusal(f"{under} is no folder.")
        files: list[str] = []
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
            within = Path(folder).relative_to(self._root)
            files += (str(within / name) for name in names)
            if len(files) > MAX_SEARCHED:
                break
        yield from sorted(files)

    def _read(self, asked: JsonObject) -> JsonObject:
        text = self._text(str(asked["path"]))
        lines = text.splitlines(keepends=True)
        first = max(1, _number(asked.get("line"), 1))
        told: list[str] = []
        size = 0
        for line in lines[first - 1 :]:
            size += len(line)
            if told and size > MAX_READ:
                break
            told.append(clip(line, MAX_READ))
        answer: JsonObject = {"text": "".join(told), "line": first, "lines": len(lines)}
        if first - 1 + len(told) < len(lines):
            answer["next"] = first + len(told)
        return answer

    def _search(self, asked: JsonObject) -> JsonObject:
        wanted, found = str(asked["text"]), []
        for name in self._walk(str(asked.get("path", "")).rstrip("/")):
            try:
                text = self._text(name)
            except (Refusal, OSError):  # not text, too long, or gone meanwhile
                continue
            for number, line in enumerate(text.splitlines(), 1):
                if wanted in line:
                    found.append((f"{name}:{number}", clip(line.strip(), 200)))
            if len(found) > MAX_MATCHES:
                break
        return page("matches", found, lambda where, line: {"at": where, "text": line}, MAX_MATCHES)

    def _text(self, path: str) -> str:
        with opened_beneath(self._root, path) as found:
            status = os.fstat(found)
            if not stat.S_ISREG(status.st_mode):
                raise Refusal(f"{path} is no file.")
            if status.st_size > MAX_FILE:
                raise Refusal(f"{path} has {status.st_size} bytes; {MAX_FILE} are read at most.")
            # On Linux the descriptor stands for the file and does not read it; /proc opens it.
            place = f"/proc/self/fd/{found}" if hasattr(os, "O_PATH") else found
            with open(place, "rb", closefd=isinstance(place, str)) as file:
                data = file.read(MAX_FILE + 1)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Refusal(f"{path} is no text.") from None

    # --- writing --------------------------------------------------------------------------------

    def _write(self, asked: JsonObject) -> JsonObject:
        path, text = str(asked["path"]), str(asked["text"])
        self._replace(path, text)
        return {"written": path, "lines": len(text.splitlines())}

    def _edit(self, asked: JsonObject) -> JsonObject:
        path, old, new = str(asked["path"]), str(asked["old"]), str(asked["new"])
        text = self._text(path)
        count = text.count(old)
        if count != 1:
            raise Refusal(
                f"the old text is {f'{count} times' if count else 'not'} in {path}: give exactly"
                " what stands there, with enough around it to be there once."
            )
        self._replace(path, text.replace(old, new))
        return {"edited": path, "line": text[: text.index(old)].count("\n") + 1}

    def _remove(self, asked: JsonObject) -> JsonObject:
        path = str(asked["path"])
        with self._folder(path) as (folder, name):
            os.unlink(name, dir_fd=folder)
        return {"removed": path}

    def _replace(self, path: str, text: str) -> None:
        """Put a whole file in its place; one that can be run stays so."""
        data = text.encode()
        if len(data) > MAX_FILE:
            raise Refusal(f"{path} would have {len(data)} bytes; {MAX_FILE} are written at most.")
        with self._folder(path, make=True) as (folder, name):
            mode = 0o644
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(found.st_mode):
                    raise Refusal(f"{path} is no file.")
                mode = stat.S_IMODE(found.st_mode)
            fresh = f".{name[:60]}.{secrets.token_hex(4)}"
            try:
                with os.fdopen(os.open(fresh, _NEW, mode, dir_fd=folder), "wb") as file:
                    file.write(data)
                os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(fresh, dir_fd=folder)
                raise

    @contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder that a path is in, and its last part."""
        *folders, name = path.split("/")
        if make:
            for depth in range(1, len(folders) + 1):
                self._make_folder(folders[:depth])
        with opened_beneath(self._root, "/".join(folders) or ".") as folder:
            yield folder, name

    def _make_folder(self, parts: list[str]) -> None:
        *above, name = parts
        with (
            opened_beneath(self._root, "/".join(above) or ".") as folder,
            suppress(FileExistsError),
        ):
            os.mkdir(name, dir_fd=folder)


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _entry(cursor: str, name: str) -> JsonObject:
    return {"path": name}


def _tool(
    need: Means, name: str, description: str, effect: EffectClass, schema: JsonObject
) -> tuple[Means, ToolDefinition]:
    risk: Any = "info" if effect == "pure" else "low"
    return need, ToolDefinition(
        name=name, description=description, input_schema=schema, effect=effect, risk=risk
    )


def _text(description: str, least: int = 1, most: int = MAX_PATH) -> JsonObject:
    return {
        "type": "string",
        "minLength": least,
        "maxLength": most,
        "description": description,
    }


_PATH = _text("Path from the project's folder.")
_UNDER: JsonObject = {"path": _text("Only below this folder.", 0)}
_BODY = 400_000


def _schema(required: JsonObject, optional: JsonObject | None = None) -> JsonObject:
    schema = open_object(**required)  # type: ignore[arg-type]
    return {**schema, "properties": {**required, **(optional or {})}}


_TOOLS: tuple[tuple[Means, ToolDefinition], ...] = (
    _tool(
        "read",
        "files.list",
        "List the project's files. Where there are more, next is the cursor of the next call.",
        "pure",
        _schema({}, {**_UNDER, "cursor": _text("Where to go on.", 0)}),
    ),
    _tool(
        "read",
        "files.read",
        "Read a text file. Where there is more, next is the line of the next call.",
        "pure",
        _schema({"path": _PATH}, {"line": {"type": "integer", "minimum": 1}}),
    ),
    _tool(
        "read",
        "files.search",
        "Find the lines of text files that hold this text, upper and lower case as given.",
        "pure",
        _schema({"text": _text("What to look for.", 1, 200)}, _UNDER),
    ),
    _tool(
        "write",
        "files.write",
        "Write a whole text file, new or in the place of the one that is there.",
        "idempotent",
        _schema({"path": _PATH, "text": _text("All of it.", 0, _BODY)}),
    ),
    _tool(
        "write",
        "files.edit",
        "Put new text in the place of old text, which must be in the file exactly once.",
        "once",
        _schema(
            {
                "path": _PATH,
                "old": _text("Exactly what stands there.", 1, _BODY),
                "new": _text("What is to stand there.", 0, _BODY),
            }
        ),
    ),
    _tool("write", "files.remove", "Remove a file.", "once", _schema({"path": _PATH})),
)
