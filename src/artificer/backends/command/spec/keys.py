"""The keys of ``[command]`` (``docs/manifests.md``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from artificer.manifests.keys import FilledText, SafeInteger
from artificer.values.keys import KeyTable


class ConditionalKeys(KeyTable):
    """``[command.conditionals.NAME]``: items that appear when a condition holds."""

    when: FilledText
    template: FilledText


class CommandKeys(KeyTable):
    """``[command]``: a program, its arguments and other inputs, and the statuses of success."""

    template: str | None = None
    exec: tuple[str | tuple[str, ...], ...] | None = None
    executor: FilledText | None = None
    defaults: dict[str, str | SafeInteger | float | bool] = Field(default_factory=dict)
    mappings: dict[str, dict[str, str]] = Field(default_factory=dict)
    conditionals: dict[str, ConditionalKeys] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    env_pass: tuple[str, ...] = ()
    stdin: str | None = None
    cwd: FilledText | None = None
    success_exit: Annotated[tuple[int, ...], Field(min_length=1)] = (0,)
