"""Asks each broken plug-in of ``test_plugin_faults`` for what it offers, and prints the errors."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from artificer import load_config
from artificer.archive import Archive
from artificer.backends.backend import backend_of
from artificer.backends.context import ExecutorContext
from artificer.backends.loader import load_folder
from artificer.cli.setup.plugged_in import plug_ins
from artificer.dispatch.kinds import open_dispatcher
from artificer.errors import ArtificerError, ConfigError
from artificer.manifests.parse import parse_manifest
from artificer.providers.registry import PROVIDERS, ProviderPlace
from artificer.secrets.kinds import secrets_of
from artificer.wiring.folders import manifests, settings_of
from artificer.wiring.providers import made
from artificer.wiring.storage_kinds import opened
from artificer.world import World

MANIFEST = """
[tool]
name = "tea"
version = "1"
description = "Make tea."
[{}]
"""

PARTS: tuple[Any, ...] = (
    *("blobs", "clean_blobs", "redactor", "secrets", "versions", "reader", "now", "servers"),
)
"""The parts of a context, which these executors do not use."""

CALLBACK = """
[tool]
name = "tell"
version = "1"
description = "Tell the program."
dispatch = "callback"
"""


async def _open(folder: Path, setting: str, name: str) -> None:
    config = load_config(home=folder, project="p").replace(storage="memory:")
    match setting:
        case "storage":
            async with World.open(config.replace(storage=f"{name}:here")):
                pass
        case "reading":
            async with Archive.open(config.replace(storage=f"{name}:here")):
                pass
        case "using":
            storage = await opened(config.replace(storage=f"{name}:here"), read_only=False)
            await storage.journal.acquire("a")
        case "doctor":
            raise ConfigError("".join(found.fault for found in plug_ins() if found.name == name))
        case "provider":
            kind = PROVIDERS.get(name)
            assert kind is not None
            made(kind, ProviderPlace(name=name, home=folder))
        case "settings":
            settings_of(name, backend_of(name), config)
        case "secrets":
            secrets_of((f"{name}:here",))
        case "dispatcher":
            worker = config.worker.replace(dispatcher=f"{name}:here")
            async with World.open(config.replace(worker=worker)) as world:
                await (await open_dispatcher(world.config, world)).aclose()
        case "folder":
            load_folder(_folder_of(folder / name, name))
        case "executors":
            context: Any = ExecutorContext(**dict.fromkeys(PARTS))
            manifests(_folder_of(folder / name, name), config, context)
        case _:
            parse_manifest(MANIFEST.format(name), "tea.clad.toml", compat=setting == "compat")


def _folder_of(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "tea.clad.toml").write_text(MANIFEST.format(name))
    (folder / "tell.clad.toml").write_text(CALLBACK)
    return folder


def main(folder: Path, cases: list[list[str]]) -> dict[str, str]:
    """Return the type and the text of the error of each case, or an empty text."""
    found = {}
    for setting, name in cases:
        try:
            asyncio.run(_open(folder, setting, name))
            found[f"{setting} {name}"] = ""
        except Exception as error:  # noqa: BLE001 - what it is, is what is asked
            text = str(error)
            if isinstance(error, ArtificerError):
                text = f"{error.message} {error.hint or ''}".strip()
            found[f"{setting} {name}"] = f"{type(error).__name__}: {text}"
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), json.loads(sys.argv[2]))))
