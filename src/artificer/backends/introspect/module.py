"""The code and configuration that decide a run: digests of the current files."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from artificer.manifests.model import SUFFIX
from artificer.values.base import JsonObject
from artificer.values.canon import digest_of
from artificer.values.release import RELEASE

MAX_MANIFESTS = 2_000
MAX_MANIFEST_BYTES = 1024 * 1024

_PACKAGE = Path(__file__).parents[2]
_LIBRARIES = ("anthropic", "openai", "httpcore2", "mcp", "xllamacpp", "pydantic", "jsonschema-rs")


@dataclass(frozen=True)
class FileDigest:
    """A file that declares tools, or a folder's keys."""

    path: str
    digest: str | None

    @property
    def facts(self) -> JsonObject:
        """Path and digest; no digest of a file that cannot be read."""
        return {"file": self.path, "digest": self.digest}


@dataclass(frozen=True)
class Module:
    """The running software. ``configuration`` digests the settings: no secrets, no places."""

    configuration: str
    release: str = RELEASE

    @property
    def python(self) -> str:
        """The implementation and the version of Python."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def package(self) -> JsonObject:
        """The digest of the installed package: of the digests and names of all its files."""
        files = sorted(
            path for path in _PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"
        )
        whole = hashlib.sha256()
        for path in files:
            name = path.relative_to(_PACKAGE).as_posix()
            whole.update(f"{digest_of(path.read_bytes())} {name}\n".encode())
        return {"files": len(files), "digest": f"sha256:{whole.hexdigest()}"}

    def libraries(self) -> JsonObject:
        """The versions of the libraries that requests and checks pass through, where they are."""
        return {name: version for name in _LIBRARIES if (version := _version(name))}

    def manifests(self, folders: Sequence[str]) -> list[FileDigest]:
        """The files that declare the run's tools, as they are now."""
        found: list[FileDigest] = []
        for folder in folders:
            try:
                paths = sorted(Path(folder).iterdir())
            except OSError:
                found.append(FileDigest(folder, None))
                continue
            found += [
                FileDigest(str(path), _digest(path))
                for path in paths
                if path.name.endswith(SUFFIX) or path.name == "toolclad.toml"
            ]
        return found[:MAX_MANIFESTS]


def _digest(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_MANIFEST_BYTES:
            return None
        return digest_of(path.read_bytes())
    except OSError:
        return None


@lru_cache
def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
