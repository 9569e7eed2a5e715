"""Reading a folder: files by line or byte, directories, single entries."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from urllib.parse import quote, unquote_to_bytes

from artificer.backends.answer import ToolRefusal, page
from artificer.backends.host.folder import MAX_DEPTH, MAX_FILE_BYTES, Folder, PathParts, kind_of
from artificer.backends.host.spec.tools import MAX_LINES, READ_BYTES
from artificer.values.base import JsonObject
from artificer.values.canon import digest_of
from artificer.values.text import clip, well_formed

MAX_LINE = 2_000
"""Characters of one line that are shown."""

MAX_CHARACTERS = 30_000
"""Of the lines of one answer."""


def text_of(path: str, data: bytes) -> str:
    """A file's text. Raises Refusal for a file that has none."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ToolRefusal(
            f"{path!r} is no UTF-8 text (byte {error.start}): read its bytes with `offset`."
        ) from error
    if "\0" in text:
        raise ToolRefusal(f"{path!r} is a binary file: read its bytes with `offset`.")
    return text


def numbered(text: str, first: int, last: int) -> str:
    """Lines of a text, from ``first`` to ``last``, with their numbers."""
    lines = text.split("\n")[first - 1 : last]
    return "\n".join(
        f"{number:>6}\t{clip(line.removesuffix(chr(13)), MAX_LINE)}"
        for number, line in enumerate(lines, first)
    )


def read_lines(path: str, data: bytes, first: int, count: int) -> str:
    """Lines of a text file below a line that says what they are."""
    text = text_of(path, data)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    if first > max(total, 1):
        raise ToolRefusal(f"{path!r} has only {total} lines.")
    size, last = 0, first - 1
    for line in lines[first - 1 : first - 1 + min(count, MAX_LINES)]:
        size += min(len(line), MAX_LINE) + 8
        if size > MAX_CHARACTERS and last >= first:
            break
        last += 1
    facts = [path, f"lines {first}-{last} of {total}" if total else "empty"]
    facts += [f"{len(data)} bytes", digest_of(data)]
    facts += [r"lines end with \r\n"] if "\r\n" in text else []
    facts += ["no newline at the end"] if text and not text.endswith("\n") else []
    shown = numbered(text, first, last)
    rest = f"\n(go on with line {last + 1})" if last < total else ""
    return f"{' · '.join(facts)}\n{shown}{rest}"


def read_range(folder: Folder, parts: PathParts, offset: int, length: int) -> JsonObject:
    """A range of a file's bytes; of a file of any size."""
    with folder.opened(parts) as file:
        size = os.fstat(file).st_size
        if offset > size:
            raise ToolRefusal(f"The offset {offset} is beyond the file's {size} bytes.")
        data = os.pread(file, min(length, READ_BYTES), offset)
    end = offset + len(data)
    facts: JsonObject = {
        "path": "/".join(parts),
        "size": size,
        "range": [offset, end],
        "more": end < size,
    }
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {**facts, "base64": base64.b64encode(data).decode()}
    return {**facts, "text": text}


def list_directory(folder: Folder, parts: PathParts, cursor: str, limit: int) -> JsonObject:
    """Return a page of a directory's entries."""

    def tell(_: str, entry: tuple[str, os.stat_result]) -> JsonObject:
        name, status = entry
        facts: JsonObject = {"name": well_formed(name), "kind": kind_of(status)}
        if facts["kind"] == "file":
            facts["size"] = status.st_size
        return facts

    after = path_of(cursor)
    entries = ((cursor_of(name), (name, it)) for name, it in folder.names(parts) if name > after)
    return {"path": "/".join(parts), **page("entries", entries, tell, limit)}


def cursor_of(path: str) -> str:
    """Return the cursor that stands for a path: itself, or its bytes where they are not UTF-8.

    Those follow a slash, with which no path in the folder begins.
    """
    return path if well_formed(path) == path else "/" + quote(os.fsencode(path))


def path_of(cursor: str) -> str:
    """Return the path that a cursor stands for."""
    return os.fsdecode(unquote_to_bytes(cursor[1:])) if cursor.startswith("/") else cursor


def stat_entry(folder: Folder, parts: PathParts) -> JsonObject:
    """Return the facts about the entry at a path."""
    status = folder.kind(parts)
    if status is None:
        return {"path": "/".join(parts), "exists": False}
    facts: JsonObject = {"path": "/".join(parts), "exists": True, "kind": kind_of(status)}
    if facts["kind"] == "file":
        facts |= {
            "size": status.st_size,
            "mode": f"{status.st_mode & 0o777:04o}",
            "modified_ms": status.st_mtime_ns // 1_000_000,
        }
        if status.st_size <= MAX_FILE_BYTES:
            facts["digest"] = digest_of(folder.read(parts).data)
    return facts


def walk(folder: Folder, parts: PathParts, skip: frozenset[str]) -> Iterator[tuple[PathParts, int]]:
    """Every file below a path with its size, in order of path segments; or the file itself."""
    status = folder.kind(parts)
    if status is None:
        raise ToolRefusal(f"{'/'.join(parts)!r} is not there.")
    if kind_of(status) == "file":
        yield parts, status.st_size
        return
    if len(parts) >= MAX_DEPTH:
        return
    for name, entry in folder.names(parts):
        kind = kind_of(entry)
        if kind == "file":
            yield (*parts, name), entry.st_size
        elif kind == "dir" and name not in skip:
            try:
                yield from walk(folder, (*parts, name), skip)
            except ToolRefusal:
                continue  # it may not be read, or is gone
