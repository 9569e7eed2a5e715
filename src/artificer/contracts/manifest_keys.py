"""What a manifest may say: the sections and keys of a ``*.clad.toml`` file, with their types.

The format is ToolClad's (``research/toolclad.md`` section 1.1), which this release reads in part;
``effect``, ``success_exit``, ``allow_dash``, ``multiline`` and groups in ``exec`` are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from artificer.contracts.arg_types import Argument
from artificer.contracts.definition import EffectClass, Risk
from artificer.values.base import Value
from artificer.values.canon import MAX_SAFE_INTEGER

MAX_TIMEOUT_SECONDS = 24 * 60 * 60

LATER: dict[str, tuple[str, ...]] = {
    "": ("http", "mcp", "session", "browser", "types"),
    "tool": ("cedar", "evidence", "dispatch", "mode"),
    "args.*": ("clamp", "sanitize", "scope_check"),
    "command": ("executor", "conditionals"),
    "output": ("parser",),
}
"""Keys of the format that this release does not read, by section: refused, never ignored."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Text = Annotated[str, Field(min_length=1)]


SafeInteger = Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]


class ToolKeys(Value):
    """``[tool]``"""

    name: Name
    version: Text
    description: Text
    binary: str = ""
    timeout_seconds: Annotated[int, Field(gt=0, le=MAX_TIMEOUT_SECONDS)] = 60
    risk_tier: Risk = "low"
    human_approval: bool = False
    effect: EffectClass = "once"


class CommandKeys(Value):
    """``[command]``"""

    template: str | None = None
    exec: tuple[str | tuple[str, ...], ...] | None = None
    defaults: dict[str, str | SafeInteger | float | bool] = Field(default_factory=dict)
    mappings: dict[str, dict[str, str]] = Field(default_factory=dict)
    success_exit: Annotated[tuple[int, ...], Field(min_length=1)] = (0,)


class OutputKeys(Value):
    """``[output]``"""

    format: Literal["text", "json"] = "text"
    envelope: Literal[True] = True
    result: dict[str, JsonValue] | None = Field(default=None, alias="schema")


class ManifestKeys(Value):
    """A whole file."""

    tool: ToolKeys
    args: dict[str, Argument] = Field(default_factory=dict)
    command: CommandKeys
    output: OutputKeys = OutputKeys()
