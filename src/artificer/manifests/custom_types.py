"""``toolclad.toml``: what the manifests of a folder share, its own argument types and its scope."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from artificer.contracts.arguments.types import ArgumentType
from artificer.contracts.scope import Scope
from artificer.errors import ManifestError
from artificer.manifests.toml_lines import key_lines, line_of
from artificer.manifests.toml_text import read_toml
from artificer.values.keys import KeyTable

LIMITS = ("allowed", "pattern", "min", "max", "min_float", "max_float")


class CustomType(KeyTable):
    """``[types.NAME]``: one of the fifteen types with limits of its own. Types do not nest."""

    base: ArgumentType
    allowed: tuple[str, ...] | None = None
    pattern: str | None = None
    min: int | float | None = None
    max: int | float | None = None
    min_float: int | float | None = None
    max_float: int | float | None = None


class FolderKeys(KeyTable):
    """A whole ``toolclad.toml``."""

    types: dict[str, CustomType] = Field(default_factory=dict)
    scope: Scope | None = None


def parse_folder_keys(text: str, file: str) -> FolderKeys:
    """Read a ``toolclad.toml``; ``file`` is its name, for messages.

    Raises:
        ManifestError: with one line, ``file:line: key: what is wrong``, for each fault.
    """
    try:
        data = read_toml(text)
    except ValueError as error:
        raise ManifestError(f"{file}: not valid TOML: {error}") from error
    try:
        return FolderKeys.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        lines = key_lines(text)
        messages = []
        for detail in error.errors():
            path = tuple(str(step) for step in detail["loc"])
            known = detail["type"] != "extra_forbidden"
            what = detail["msg"] if known else "is not a known key"
            messages.append(f"{file}:{line_of(lines, path)}: {'.'.join(path)}: {what}")
        raise ManifestError("\n".join(messages)) from error


def with_custom_type(table: Mapping[str, Any], types: Mapping[str, CustomType]) -> dict[str, Any]:
    """An argument's table with the base of its custom type; the type's limits win."""
    kind = table.get("type")
    custom = types.get(kind) if isinstance(kind, str) else None
    if custom is None:
        return dict(table)
    own = custom.model_dump(include=set(LIMITS), exclude_none=True)
    for one, other in (("min", "min_float"), ("max", "max_float")):
        if other in own:
            own[one] = own.pop(other)
    kept = {k: v for k, v in table.items() if k.removesuffix("_float") not in own}
    return {**kept, "type": custom.base, **own}
