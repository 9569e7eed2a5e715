"""Loading a folder of manifests: once, at the start, reporting all faults together."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from artificer.backends.command.signing import Signers
from artificer.errors import ManifestError
from artificer.manifests.custom_types import FolderKeys, parse_folder_keys
from artificer.manifests.model import SUFFIX, Manifest, ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.manifests.section_reads import checked_tools, linked_files, named_programs
from artificer.system.regular_file import read_regular

FOLDER_FILE = "toolclad.toml"
"""The file that the manifests of a folder share: argument types and scope."""

MAX_BYTES = 256 * 1024
"""Largest manifest that is read."""


def load_folder(
    folder: Path, *, compat: bool = False, trusted_keys: Sequence[Path] = ()
) -> tuple[ManifestFile[Any], ...]:
    """Load every manifest directly in a folder, in the order of file names.

    With ``compat``, what the format's reference lets pass is a warning of the manifest. With
    ``trusted_keys`` (public keys, PEM) every file must bear a signature by one of them.

    Raises:
        ManifestError: with the faults of all files, a line each; also for a folder that cannot
            be read, and for two tools of the same name.
        ConfigError: a trusted key cannot be read; a plug-in breaks the protocol of sections.
        MissingExtraError: signatures are wanted, and ``cryptography`` is not installed.
    """
    if not folder.is_dir():
        raise ManifestError(
            f"{folder} is not a folder.", hint=f"Name a folder that holds *{SUFFIX} files."
        )
    signers = Signers.of(trusted_keys)
    tools: list[ManifestFile[Any]] = []
    faults: list[str] = []
    try:
        keys = load_folder_keys(folder, signers)
    except ManifestError as error:
        faults.append(error.message)
        keys = FolderKeys()
    for file in _manifests(folder):
        try:
            tools.append(load_file(file, keys, compat=compat, signers=signers))
        except ManifestError as error:
            faults.append(error.message)
    faults += _clashes(tools)
    for section in {tool.manifest.backend: tool.manifest.section for tool in tools}.values():
        tools, unlinked = linked_files(section, tools)
        faults += unlinked
    if faults:
        raise ManifestError("\n".join(faults), hint="Correct these manifests; none was loaded.")
    for tool in tools:
        checked_tools(tool)
    return tuple(tools)


def load_folder_keys(folder: Path, signers: Signers | None = None) -> FolderKeys:
    """Read a folder's ``toolclad.toml``, or the one above it. Raises ManifestError.

    The format's reference keeps the file in the project's folder, and the manifests in a folder
    below: where a folder has none of its own, that of the folder above counts.
    """
    for place in (folder, folder.absolute().parent):
        file = place / FOLDER_FILE
        if file.exists():
            return parse_folder_keys(_read(file, signers), str(file))
    return FolderKeys()


def load_file(
    file: Path,
    keys: FolderKeys | None = None,
    *,
    compat: bool = False,
    signers: Signers | None = None,
) -> ManifestFile[Any]:
    """Load one manifest; ``keys`` are its folder's. Raises ManifestError with all its faults."""
    manifest = parse_manifest(_read(file, signers), str(file), folder=keys, compat=compat)
    for key, program in _programs(manifest):
        if "/" not in program:
            continue
        if not _is_program(file.parent / program):
            raise ManifestError(
                f"{file}: {key}: {program!r} is not an executable file in the same folder"
            )
        if signers is not None:
            signers.check(file.parent / program, (file.parent / program).read_bytes())
    return ManifestFile(manifest, str(file))


def _programs(manifest: Manifest[Any]) -> Iterator[tuple[str, str]]:
    yield from named_programs(manifest.section, manifest.part)
    if manifest.output.script is not None:
        yield "output.parser", manifest.output.script


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _manifests(folder: Path) -> list[Path]:
    names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(SUFFIX))
    return [folder / name for name in names]


def _read(file: Path, signers: Signers | None) -> str:
    try:
        data = read_regular(file, MAX_BYTES)
    except OSError as error:
        raise ManifestError(
            f"{file}: cannot be read: {error.strerror}", hint="Check its permissions."
        ) from error
    if data is None:
        raise ManifestError(f"{file}: has more than {MAX_BYTES} bytes")
    if signers is not None:
        signers.check(file, data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ManifestError(f"{file}: is not UTF-8: {error.reason}") from error


def _clashes(tools: list[ManifestFile[Any]]) -> list[str]:
    files = defaultdict(list)
    for tool in tools:
        files[tool.manifest.tool.name].append(tool.file)
    return [
        f"{named[1]}: the name {name!r} is already taken by {named[0]}"
        for name, named in files.items()
        if len(named) > 1
    ]
