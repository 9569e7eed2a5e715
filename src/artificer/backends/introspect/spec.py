"""The introspect tools: what a model reads about them, and the schemas that the gate holds."""

from __future__ import annotations

from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject

MAX_PAGE = 200
MAX_POINTER = 500

_AT_LEAST: JsonObject = {
    "type": "integer",
    "minimum": 1,
    "description": "An error unless the journal is at least this high.",
}
_EXACT: JsonObject = {
    "type": "integer",
    "minimum": 1,
    "description": "As it was at this height, whatever came after. Without either: as it is now.",
}
_LIMIT: JsonObject = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 50}
_CURSOR: JsonObject = {
    "type": "string",
    "maxLength": MAX_POINTER,
    "description": "The `next` of the answer before, to go on after it.",
}


def _tool(name: str, description: str, **properties: JsonObject) -> ToolDefinition:
    return ToolDefinition(
        name=f"introspect.{name}",
        description=f"{description} Every answer names the journal's height and record hash.",
        input_schema={
            "type": "object",
            "properties": {"at_least": _AT_LEAST, "exact": _EXACT, **properties},
            "required": [],
            "additionalProperties": False,
        },
        effect="pure",
        risk="info",
        timeout_ms=60_000,
        backend="introspect",
    )


MANIFEST = _tool(
    "manifest",
    "What this run was given: its model, policy, limits and facilities with their digests, and its "
    "tools, page by page.",
    cursor=_CURSOR,
    limit=_LIMIT,
)
SCHEMAS = _tool(
    "schemas",
    "The tools of this run with the JSON Schemas of their arguments, page by page, or one of them.",
    tool={"type": "string", "maxLength": 64, "description": "Only this tool."},
    cursor=_CURSOR,
    limit={**_LIMIT, "default": 10},
)
MODULE = _tool(
    "module",
    "Which code and configuration decide this run: releases, the digest of the installed package, "
    "provider, SDKs, and the files of manifests with their digests, page by page.",
    cursor=_CURSOR,
    limit=_LIMIT,
)
STATE = _tool(
    "state",
    "What this run has come to: the member of its state at a JSON Pointer, page by page; what is "
    "long is only described, and read by its own pointer.",
    pointer={
        "type": "string",
        "maxLength": MAX_POINTER,
        "default": "",
        "description": "As in /usage or /history/0; the whole state without it.",
    },
    cursor=_CURSOR,
    limit=_LIMIT,
)
JOURNAL_HEAD = _tool(
    "journal_head",
    "How high this run's journal is and what its last record is; with `after`, the records that "
    "follow that one, page by page.",
    after={"type": "integer", "minimum": 0, "description": "A record's number."},
    limit=_LIMIT,
)

TOOLS: tuple[ToolDefinition, ...] = (MANIFEST, SCHEMAS, MODULE, STATE, JOURNAL_HEAD)
