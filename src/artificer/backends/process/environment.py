"""The environment of programs: an allow-list, and what a call adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from artificer.contracts.arguments.bind import BoundArguments
from artificer.contracts.arguments.types import Argument, operand_of, text_of
from artificer.manifests.model import Manifest
from artificer.values.base import JsonValue

ENV_ALLOWED = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR")
"""The variables, with ``LC_*``, that a program inherits. An allow-list keeps API keys out."""

KEY_VARIABLE = "ARTIFICER_IDEMPOTENCY_KEY"
"""Where a program finds its call's idempotency key."""

TOKEN_VARIABLE = "ARTIFICER_FENCING_TOKEN"
"""Where a program finds its call's fencing token."""


def child_environment(ours: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str]:
    """The part of our environment that a program may see: an allow-list (invariant 10)."""
    allowed = {*ENV_ALLOWED, *also}
    return {name: v for name, v in ours.items() if name in allowed or name.startswith("LC_")}


def executor_environment(
    manifest: Manifest[Any], bound: BoundArguments, places: Mapping[str, str]
) -> dict[str, str]:
    """Return an executor's variables, those that ``docs/manifests.md`` names; a list is JSON."""
    variables = {
        f"TOOLCLAD_ARG_{a.name.upper()}": _written(a, bound.values[a.name])
        for a in manifest.arguments
        if a.name in bound.values
    }
    return variables | {
        "TOOLCLAD_SCAN_ID": places["_scan_id"],
        "TOOLCLAD_TOOL_NAME": manifest.tool.name,
        "TOOLCLAD_OUTPUT_DIR": places["_evidence_dir"],
        "TOOLCLAD_EVIDENCE_DIR": places["_evidence_dir"],
    }


def _written(argument: Argument, value: JsonValue) -> str:
    """A value as a script gets it, which may hand it on to any program."""
    if isinstance(value, list):
        return text_of([operand_of(argument, v) if isinstance(v, str) else v for v in value])
    return operand_of(argument, value)
