"""Confining a program by bubblewrap: namespaces without the rest of the machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from artificer.backends.process.confinement import Spawn
from artificer.backends.process.limits import limits_command
from artificer.backends.process.start import Process
from artificer.backends.sandbox.finding import SandboxFinding
from artificer.backends.sandbox.rules import Rules, system_folders
from artificer.manifests.keys import LimitKeys
from artificer.values.text import clip

NAME = "bubblewrap"
_PROGRAM = "bwrap"
_SCRATCH = "/tmp"
_SECONDS = 10


@dataclass(frozen=True)
class Bubblewrap:
    """The confinement of one call."""

    rules: Rules
    name: str = NAME
    ends_all: bool = True

    @property
    def env(self) -> Mapping[str, str]:
        """The variables of a program: its home and its temporary files are in ``/tmp``."""
        return {"TMPDIR": _SCRATCH, "HOME": _SCRATCH}

    def start(self, argv: Sequence[str], spawn: Spawn, limits: LimitKeys | None) -> Process:
        """Start a program in namespaces of its own, its limits set before it begins."""
        return spawn([*_prefix(self.rules), *limits_command(limits), *argv], None)


@cache
def find_bubblewrap() -> SandboxFinding:
    """Whether bubblewrap is installed, and may do here what it must."""
    program = shutil.which(_PROGRAM)
    if program is None:
        return SandboxFinding(NAME, False, "not installed", "apt install bubblewrap")
    folder = Path("/")
    rules = Rules(tuple(system_folders(network=False)), (), Path("/var/empty"), folder)
    try:
        tried = subprocess.run(
            [*_prefix(rules), "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        version = subprocess.run(
            [program, "--version"], capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return SandboxFinding(NAME, False, f"cannot be run: {error}")
    if tried.returncode:
        output = clip(tried.stderr.decode("utf-8", "replace").strip(), 200)
        hint = "it needs user namespaces: see kernel.unprivileged_userns_clone, or the container"
        return SandboxFinding(NAME, False, f"does not work here: {output}", hint)
    return SandboxFinding(NAME, True, version.stdout.decode("utf-8", "replace").strip())


def _prefix(rules: Rules) -> Iterator[str]:
    """The command that a program's own is put behind."""
    yield from (_PROGRAM, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL")
    if rules.network:
        yield "--share-net"
    # To root's programs /proc/sys is writable even without a capability: what is written there
    # (a program that handles core dumps) the kernel runs outside.
    yield from ("--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc")
    yield from ("--bind-try", str(rules.scratch), _SCRATCH)
    for option, path in _mounts(rules):
        yield from (option, str(path), str(path))
    yield from ("--remount-ro", "/", "--chdir", str(rules.cwd), "--")


def _mounts(rules: Rules) -> list[tuple[str, Path]]:
    """Return the mounts, a folder before its contents: the later mount covers the earlier."""
    ways = dict.fromkeys(rules.readable, "--ro-bind-try")
    ways |= dict.fromkeys(rules.writable, "--bind-try")
    ways |= dict.fromkeys(rules.kept, "--ro-bind-try")
    needed = ((way, path) for path, way in ways.items() if not _is_seen(path, way, ways))
    return sorted(needed, key=lambda mount: len(mount[1].parts))


def _is_seen(path: Path, way: str, ways: Mapping[Path, str]) -> bool:
    """Whether the nearest folder above shows a path in the same way: its own mount would add
    nothing, and cannot be made where it is a symbolic link, such as the Python of an environment.
    """
    above = next((parent for parent in path.parents if parent in ways), None)
    return above is not None and ways[above] == way == "--ro-bind-try"
