"""Loading a folder of manifests: once, at the start, all faults together."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from artificer.contracts.manifest import parse_manifest
from artificer.errors import ManifestError
from artificer.tools.command import CommandTool

SUFFIX = ".clad.toml"
"""How a manifest's file name ends."""

MAX_BYTES = 256 * 1024
"""Largest manifest that is read."""


def load_folder(folder: Path) -> tuple[CommandTool, ...]:
    """Load every manifest directly in a folder, in the order of file names.

    Raises:
        ManifestError: with the faults of all files, a line each; also for a folder that cannot
            be read, and for two tools of the same name.
    """
    if not folder.is_dir():
        raise ManifestError(
            f"{folder} is not a folder.", hint=f"Name a folder that holds *{SUFFIX} files."
        )
    tools: list[CommandTool] = []
    faults: list[str] = []
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            tools.append(load_file(file))
        except ManifestError as error:
            faults.append(error.message)
    faults += _clashes(tools)
    if faults:
        raise ManifestError("\n".join(faults), hint="Correct these manifests; none was loaded.")
    return tuple(tools)


def load_file(file: Path) -> CommandTool:
    """Load one manifest. Raises ManifestError with all its faults."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ManifestError(f"{file}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ManifestError(f"{file}: has {len(data)} bytes, {MAX_BYTES} are allowed")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ManifestError(f"{file}: is not UTF-8: {error.reason}") from error
    return CommandTool(parse_manifest(text, str(file)), str(file))


def _clashes(tools: list[CommandTool]) -> list[str]:
    files = defaultdict(list)
    for tool in tools:
        files[tool.manifest.tool.name].append(tool.file)
    return [
        f"{named[1]}: the name {name!r} is already taken by {named[0]}"
        for name, named in files.items()
        if len(named) > 1
    ]
