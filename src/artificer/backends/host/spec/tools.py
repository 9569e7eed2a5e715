"""The host tools: what a model reads about them, and the schemas that the gate holds."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.contracts.capabilities import Host
from artificer.contracts.definition import EffectClass, Risk, ToolDefinition
from artificer.values.base import JsonObject

MAX_PATH = 4096
MAX_LINES = 2_000
READ_BYTES = 24_000
MAX_TEXT = 1_000_000
"""Characters of a text that a call may hold."""

MAX_FOUND = 200
SEARCH_SECONDS = 20
TIMEOUT_MS = 60_000

_PATH: JsonObject = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_PATH,
    "description": "A path in the folder, like src/main.py.",
}
_BELOW: JsonObject = {**_PATH, "description": "Only what is in this directory, or this file."}
_LIMIT: JsonObject = {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": 100}
_CURSOR: JsonObject = {
    "type": "string",
    "maxLength": MAX_PATH,
    "description": "The `next` of the answer before, to go on after it.",
}
_TEXT: JsonObject = {"type": "string", "maxLength": MAX_TEXT}


def _tool(
    name: str,
    description: str,
    effect: EffectClass,
    properties: JsonObject,
    required: Sequence[str],
    risk: Risk = "low",
) -> ToolDefinition:
    return ToolDefinition(
        name=f"host.{name}",
        description=description,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
        effect=effect,
        risk=risk,
        timeout_ms=TIMEOUT_MS,
        backend="host",
    )


READ = _tool(
    "read",
    "Read a text file of the folder, its lines numbered, or with `offset` a range of any file's "
    f"bytes. At most {MAX_LINES} lines or {READ_BYTES} bytes in one answer, which says how to go "
    "on. The numbers and the tab after them are not part of the file.",
    "pure",
    {
        "path": _PATH,
        "line": {"type": "integer", "minimum": 1, "default": 1, "description": "The first line."},
        "lines": {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "default": MAX_LINES},
        "offset": {"type": "integer", "minimum": 0, "description": "The first byte."},
        "length": {"type": "integer", "minimum": 1, "maximum": READ_BYTES, "default": READ_BYTES},
    },
    ["path"],
)
LIST = _tool(
    "list",
    "List a directory of the folder: names, kinds, sizes. Without a path, the folder itself.",
    "pure",
    {"path": _BELOW, "cursor": _CURSOR, "limit": _LIMIT},
    [],
)
STAT = _tool(
    "stat",
    "Say what stands at a path: kind, size, mode, digest; or that nothing does.",
    "pure",
    {"path": _PATH},
    ["path"],
)
GLOB = _tool(
    "glob",
    "Find files by their path: * and ? and [abc] within a name, ** over any directories, as in "
    "src/**/*.py. Sorted by path. What is in .git is left out.",
    "pure",
    {
        "pattern": {**_PATH, "description": "For example **/*.toml."},
        "path": _BELOW,
        "cursor": _CURSOR,
        "limit": _LIMIT,
    },
    ["pattern"],
)
GREP = _tool(
    "grep",
    "Find lines that a regular expression (Python's) matches. Binary files and what is in .git are "
    f"left out; the search ends after {SEARCH_SECONDS} seconds.",
    "pure",
    {
        "pattern": {"type": "string", "minLength": 1, "maxLength": 1000},
        "path": _BELOW,
        "glob": {**_PATH, "description": "Only files whose path, or name, this glob matches."},
        "ignore_case": {"type": "boolean", "default": False},
        "context": {
            "type": "integer",
            "minimum": 0,
            "maximum": 10,
            "default": 0,
            "description": "Lines to show before and after each match.",
        },
        "limit": _LIMIT,
    },
    ["pattern"],
)
WRITE = _tool(
    "write",
    "Write a whole file, new or in the place of one whose digest you know: as `expect`, or because "
    "you have read it. The directories above it come by themselves.",
    "idempotent",
    {
        "path": _PATH,
        "text": _TEXT,
        "expect": {
            "type": "string",
            "pattern": "^absent$|^sha256:[0-9a-f]{64}$",
            "description": "`absent` for a file that must be new, or the digest it must have.",
        },
        "executable": {"type": "boolean", "description": "Without it a file keeps its mode."},
    },
    ["path", "text"],
    "medium",
)
EDIT = _tool(
    "edit",
    "Replace a passage of a text file that you have read. `old` must be there letter by letter, "
    "white space too, and only once; with `all` every one is replaced.",
    "keyed",
    {
        "path": _PATH,
        "old": {**_TEXT, "description": "The passage as it stands there, without line numbers."},
        "new": {**_TEXT, "description": "What takes its place."},
        "all": {"type": "boolean", "default": False},
    },
    ["path", "old", "new"],
    "medium",
)
PATCH = _tool(
    "patch",
    "Apply a unified diff to text files that you have read: all of it or nothing. New files come "
    "from --- /dev/null, and +++ /dev/null removes one.",
    "keyed",
    {
        "patch": {**_TEXT, "minLength": 1, "description": "With ---, +++ and @@ lines."},
        "dry_run": {"type": "boolean", "default": False, "description": "Only say what would be."},
    },
    ["patch"],
    "medium",
)

_READING = (READ, LIST, STAT, GLOB, GREP)
_WRITING = (WRITE, EDIT, PATCH)


def definitions(host: Host) -> tuple[ToolDefinition, ...]:
    """The tools that a folder is given with."""
    return (*_READING, *_WRITING) if host.write else _READING
