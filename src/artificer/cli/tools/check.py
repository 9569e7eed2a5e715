"""``artificer tools check``: read folders of manifests as a run would."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from artificer.backends.command.spec.argv import Item, items_of
from artificer.backends.command.spec.habits import shell_habits
from artificer.backends.command.spec.section import CommandPart
from artificer.backends.loader import load_folder
from artificer.cli.commands.tools import CheckToolsOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.errors import ManifestError
from artificer.manifests.hidden_text import hidden_characters
from artificer.manifests.model import ManifestFile
from artificer.secrets.resolver import Secrets
from artificer.wiring.secrets import opened_secrets


def check(settings: Settings, options: CheckToolsOptions) -> Exit:
    """Print every fault; return 4 if there are any."""
    config = configuration(settings)
    secrets = opened_secrets(config)
    compat = options.compat or config.tools_compat
    bad = 0
    for folder in options.folders:
        try:
            tools = load_folder(folder, compat=compat, trusted_keys=config.tools_keys)
        except ManifestError as error:
            bad += 1
            out(error.message, "bad")
            continue
        if not tools:
            note(f"warning: {folder}: no file in it ends in .clad.toml")
        for file in dict.fromkeys(tool.file for tool in tools):
            for warning in hidden_characters(Path(file).read_text(encoding="utf-8"), file):
                note(f"warning: {warning}")
        for tool in tools:
            warnings = (*tool.manifest.warnings, *_doubts(tool), *_missing(tool, secrets))
            for warning in warnings:
                note(f"warning: {warning}")
        out(f"{folder}: {count(len(tools), 'tool')}", "good")
    return Exit.AUTHOR if bad else Exit.OK


def _doubts(tool: ManifestFile[Any]) -> Iterator[str]:
    """Signs that a command is not what its author meant, though it can be used."""
    part = tool.manifest.part
    if not isinstance(part, CommandPart):
        return
    yield from (f"{tool.file}: command: {habit}" for habit in shell_habits(part.groups))
    program = _program(tool, part)
    if program and shutil.which(program) is None:
        yield f"{tool.file}: command: the program {program} is not installed here"


def _missing(tool: ManifestFile[Any], secrets: Secrets) -> Iterator[str]:
    """Secrets of a manifest that cannot be had here."""
    part = tool.manifest.part
    names: tuple[str, ...] = getattr(part, "secrets", ())
    for name in names:
        if missing := secrets.find((name,)).missing:
            yield f"{tool.file}: {tool.manifest.backend}: {missing} here"


def _program(tool: ManifestFile[Any], part: CommandPart) -> str:
    """The program that is started; a path is relative to the manifest or to this folder."""
    if part.executor is not None:
        beside = "/" in part.executor
        return str(Path(tool.file).parent / part.executor) if beside else part.executor
    first = next(items_of(part.groups), None)
    return (first.literal or "") if isinstance(first, Item) else ""
