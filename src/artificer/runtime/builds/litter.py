"""Files that tools leave and nobody commits: caches, installed packages, build output."""

from __future__ import annotations

from collections.abc import Callable, Collection

from artificer.backends.host.folder import HALF_WRITTEN

FOLDERS: frozenset[str] = frozenset(
    {
        "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox",
        ".venv", "venv", ".eggs", "htmlcov", "__pypackages__", ".ipynb_checkpoints",
        "node_modules", ".npm", ".yarn-cache", ".parcel-cache", ".turbo", ".nyc_output", ".next",
        ".gradle", ".cargo-cache", ".terraform", ".cache",
    }
)  # fmt: skip
"""Folders of these names, anywhere."""

BESIDE: dict[str, tuple[str, ...]] = {
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    ".build": ("Package.swift",),
}
"""Folders that are build output only next to one of these files."""

SUFFIXES = (".pyc", ".pyo", ".egg-info", ".class", ".swp", ".swo", ".tsbuildinfo")
"""Files, and folders such as ``name.egg-info``, that end like this."""

FILES: frozenset[str] = frozenset(
    {".DS_Store", "Thumbs.db", "desktop.ini", ".coverage", "npm-debug.log", ".eslintcache"}
)
"""Files of these names, anywhere."""


def is_litter(path: str, has: Callable[[str], bool]) -> bool:
    """Whether a path is what a tool left. ``has`` says whether the project has a file."""
    *folders, name = path.rstrip("/").split("/")
    if name in FILES or name.endswith(SUFFIXES) or HALF_WRITTEN.fullmatch(name):
        return True
    for depth, folder in enumerate([*folders, name]):
        if folder in FOLDERS or folder.endswith(".egg-info"):
            return True
        above = "".join(f"{part}/" for part in folders[:depth])
        if any(has(above + marker) for marker in BESIDE.get(folder, ())):
            return True
    return False


def without_litter(
    changed: Collection[str], known: Collection[str], has: Callable[[str], bool]
) -> list[str]:
    """The changed paths that may be committed. What git knows already stays, whatever its name."""
    kept = set(known)
    return [path for path in changed if path in kept or not is_litter(path, has)]
