"""The configuration of a build's own repository, restored before each use.

Without a sandbox a build's programs may write wherever we may. git cannot be asked not to read a
repository's configuration, and that can name programs to run. So it is compared before each call.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from artificer.errors import TamperedError

log = logging.getLogger("artificer.runtime.builds")

BASE = "refs/build/base"
"""The commit that the build began from. It is never moved."""

_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tbare = {bare}\n\tfilemode = true\n"
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"
_SHA256_DIGITS = 64
_FOREIGN = ("config.worktree", "info/attributes", "info/grafts", "commondir")
"""Files that would change what git does here. We write none of them."""


def config_text(objects: str, *, bare: bool) -> str:
    """The whole configuration of a repository of ours, with objects of this format."""
    other = objects == "sha256"
    text = _CONFIG.format(version=1 if other else 0, bare=str(bare).lower())
    return text + (_SHA256 if other else "")


def object_format(*names: str) -> str:
    """The object format of a repository, by the lengths of its commits' names."""
    return "sha256" if any(len(name) == _SHA256_DIGITS for name in names) else "sha1"


def keep_ours(git_dir: Path) -> None:
    """Restore the configuration of a build's repository, and say so, if it is not ours.

    Raises:
        TamperedError: the repository itself was replaced by a link to another one.
    """
    if git_dir.is_symlink():
        raise TamperedError(
            f"{git_dir} is a link to another repository, created by a program.",
            hint="Move the repository back, or restore it from a backup.",
        )
    file, wanted = git_dir / "config", config_text(_format(git_dir), bare=True)
    if file.is_symlink() or _text(file) != wanted:
        fresh = git_dir / "config.ours"
        _remove(fresh)
        if file.is_dir():
            _remove(file)
        fresh.write_text(wanted, encoding="utf-8")
        fresh.replace(file)
        log.warning("%s was changed by a program of the build, and restored.", file)
    for name in _FOREIGN:
        if (git_dir / name).is_symlink() or (git_dir / name).exists():
            _remove(git_dir / name)
            log.warning("%s was written by a program of the build, and removed.", git_dir / name)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _format(git_dir: Path) -> str:
    packed = (line.split(" ")[0] for line in _text(git_dir / "packed-refs").splitlines())
    names = (_text(git_dir / BASE).strip(), *packed)
    return object_format(*names)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
