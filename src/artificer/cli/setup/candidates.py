"""The project's words for shell completion."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from artificer.cli.settings import Settings
from artificer.config import Config, load_config
from artificer.prices import priced_models
from artificer.runtime.listing.runs import newest
from artificer.system.regular_file import read_regular
from artificer.wiring.storage_kinds import opened

_MAX_BYTES = 256 * 1024
"""The size of the largest manifest that is read."""

LIMIT = 100
"""Runs that are offered: the newest."""


def runs(settings: Settings, values: Mapping[str, Any]) -> list[str]:
    """Return ``last`` and the ids of the newest runs."""
    return ["last", *asyncio.run(_newest(_config(settings)))]


async def _newest(config: Config) -> list[str]:
    storage = await opened(config, read_only=True)
    found: list[str] = []
    try:
        async for head in newest(storage.journal, builds=False):
            found.append(head.run)
            if len(found) == LIMIT:
                break
    finally:
        await storage.aclose()
    return found


def models(settings: Settings, values: Mapping[str, Any]) -> list[str]:
    """Return the models of the settings, those that are well known, and providers of one's own."""
    config = _config(settings)
    named = [
        *config.default_models,
        *config.prices,
        *config.context_tokens,
        "local/smollm2",
        *priced_models(),
    ]
    return [*dict.fromkeys(named), *(f"{name}/" for name in config.providers)]


def tools(settings: Settings, values: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools in the folders of the command line, or of the settings."""
    config = _config(settings)
    named = values.get("folder") or values.get("folders") or values.get("tools") or ()
    folders = (named,) if isinstance(named, (str, Path)) else named
    found = (n for folder in [*folders, *config.tools] for n in _names(Path(folder)))
    return list(dict.fromkeys(found))


def _names(folder: Path) -> Iterator[str]:
    for file in sorted(folder.glob("*.clad.toml")):
        try:
            keys = tomllib.loads((read_regular(file, _MAX_BYTES) or b"").decode())
        except (OSError, ValueError, RecursionError):
            continue
        name = keys.get("tool", {}).get("name", file.name.removesuffix(".clad.toml"))
        inner = keys.get("session", keys.get("browser", {})).get("commands")
        yield from (f"{name}.{command}" for command in inner) if inner else (name,)


def _config(settings: Settings) -> Config:
    return load_config(home=settings.home, project=settings.project)
