"""The workspace tools: what a model reads about them, and the schemas that the gate holds."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.backends.workspace.spec.version import MAX_MESSAGE
from artificer.contracts.capabilities import ANY, Grant, Operation, offered
from artificer.contracts.definition import EffectClass, ToolDefinition
from artificer.contracts.workspace_names import MAX_NAME, MAX_PATH
from artificer.values.base import JsonObject

MAX_PAGE = 200
MAX_FILES = 64
"""Files of one call."""

MAX_FILE_CHARACTERS = 1_000_000
READ_BYTES = 24_000
"""Most bytes of one answer."""

TIMEOUT_MS = 60_000

_NAME: JsonObject = {
    "type": "string",
    "pattern": f"^[A-Za-z0-9._~-]{{1,{MAX_NAME}}}$",
    "description": "The workspace's name.",
}
_PATH: JsonObject = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_PATH,
    "description": "A path like docs/plan.md: relative, letters, digits and . _ ~ - only.",
}
_BELOW: JsonObject = {
    "type": "string",
    "maxLength": MAX_PATH,
    "description": "Only this directory or file; all of the workspace without it.",
}
_VERSION: JsonObject = {
    "type": "integer",
    "minimum": 1,
    "description": "A version's number. Without it: your draft if you have written, else the head.",
}
_LIMIT: JsonObject = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 100}
_CURSOR: JsonObject = {
    "type": "string",
    "maxLength": MAX_PATH,
    "description": "The `next` of the answer before, to go on after it.",
}
_DIGEST = "^sha256:[0-9a-f]{64}$"


def definitions(grants: Sequence[Grant]) -> tuple[ToolDefinition, ...]:
    """The tools of the operations that are granted."""
    return tuple(_TOOLS[operation](_where(grants, operation)) for operation in offered(grants))


def _where(grants: Sequence[Grant], operation: Operation) -> str:
    names = sorted({n for g in grants if operation in g.operations for n in g.names})
    return "Any workspace." if ANY in names else f"Workspaces: {', '.join(names)}."


def _tool(
    name: Operation,
    description: str,
    effect: EffectClass,
    properties: JsonObject,
    required: Sequence[str] = ("workspace",),
) -> ToolDefinition:
    return ToolDefinition(
        name=f"workspace.{name}",
        description=description,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
        effect=effect,
        timeout_ms=TIMEOUT_MS,
        backend="workspace",
    )


def _list(where: str) -> ToolDefinition:
    return _tool(
        "list",
        "List the files of a workspace, a named tree of files that is kept version by version; "
        f"without a name, list the workspaces. {where}",
        "pure",
        {
            "workspace": _NAME,
            "version": _VERSION,
            "path": _BELOW,
            "depth": {
                "enum": ["dir", "subtree"],
                "default": "dir",
                "description": "Only the directory itself, or all that is below it.",
            },
            "cursor": _CURSOR,
            "limit": _LIMIT,
        },
        (),
    )


def _read(where: str) -> ToolDefinition:
    return _tool(
        "read",
        "Read a file of a workspace, or a range of its bytes. Text comes as `text`, anything else "
        f"as `base64`; at most {READ_BYTES} bytes in one answer. {where}",
        "pure",
        {
            "workspace": _NAME,
            "version": _VERSION,
            "path": _PATH,
            "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "In bytes."},
            "length": {
                "type": "integer",
                "minimum": 1,
                "maximum": READ_BYTES,
                "default": READ_BYTES,
            },
        },
        ("workspace", "path"),
    )


def _write(where: str) -> ToolDefinition:
    text: JsonObject = {"type": "string", "maxLength": MAX_FILE_CHARACTERS}
    file: JsonObject = {
        "type": "object",
        "properties": {
            "path": _PATH,
            "text": text,
            "base64": {**text, "description": "Instead of text, for other bytes."},
            "mode": {"enum": ["0644", "0755"], "description": "Without it a file keeps its own."},
            "expect": {
                "type": "string",
                "pattern": f"^absent$|{_DIGEST}",
                "description": "`absent` for a file that must be new, or the digest it must have.",
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    return _tool(
        "write",
        "Write whole files into your draft of a workspace: all of them or none. Nobody else sees a "
        f"draft; workspace.commit makes it the next version. {where}",
        "idempotent",
        {
            "workspace": _NAME,
            "version": {
                "type": "integer",
                "minimum": 0,
                "description": "The version that your draft begins from: the head without it. "
                "0 begins a workspace that is not there yet.",
            },
            "files": {"type": "array", "items": file, "minItems": 1, "maxItems": MAX_FILES},
        },
        ("workspace", "files"),
    )


def _remove(where: str) -> ToolDefinition:
    return _tool(
        "remove",
        "Remove files and empty directories from your draft of a workspace: all of them or none. "
        f"What is not there is removed already. {where}",
        "idempotent",
        {
            "workspace": _NAME,
            "paths": {"type": "array", "items": _PATH, "minItems": 1, "maxItems": MAX_FILES},
        },
        ("workspace", "paths"),
    )


def _diff(where: str) -> ToolDefinition:
    return _tool(
        "diff",
        "List what differs between two versions of a workspace; without numbers, between the "
        f"version that your draft began from and the draft. {where}",
        "pure",
        {
            "workspace": _NAME,
            "from": {"type": "integer", "minimum": 0, "description": "0 is the empty tree."},
            "to": _VERSION,
            "path": _BELOW,
            "cursor": _CURSOR,
            "limit": _LIMIT,
        },
    )


def _commit(where: str) -> ToolDefinition:
    return _tool(
        "commit",
        "Make your draft the next version of a workspace. When others have committed meanwhile "
        "nothing happens, and `conflict` says what is there; call again with `expected` set to the "
        f"version you have seen, and your files are put on top of it. {where}",
        "keyed",
        {
            "workspace": _NAME,
            "expected": {
                "type": "integer",
                "minimum": 0,
                "description": "The head that you know; without it the one your draft began from.",
            },
            "message": {"type": "string", "maxLength": MAX_MESSAGE, "description": "What and why."},
        },
    )


_TOOLS = {
    "list": _list,
    "read": _read,
    "write": _write,
    "remove": _remove,
    "diff": _diff,
    "commit": _commit,
}
