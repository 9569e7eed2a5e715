"""Confining a program by Landlock: the kernel refuses what the rules do not name.

The keeper is given the rules as a descriptor, and its child restricts itself before it becomes the
program. Landlock does not hold a capability, and root may read the environment of any process with
one: the child of root gives up what root may do beyond files.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from artificer.backends.process.confinement import Spawn
from artificer.backends.process.kept import Held
from artificer.backends.process.limits import limits_command
from artificer.backends.process.start import Process
from artificer.backends.sandbox.finding import SandboxFinding
from artificer.backends.sandbox.rules import Rules
from artificer.manifests.keys import LimitKeys

if TYPE_CHECKING:
    from landlockpy import AccessFS, Ruleset

NAME = "landlock"
NETWORK_ABI = 4
"""First version of Landlock that can refuse TCP."""

UDP_ABI = 10
"""First version that can refuse UDP."""

_DEVICES = tuple(
    Path("/dev") / name for name in ("null", "zero", "full", "random", "urandom", "tty")
)


@dataclass(frozen=True)
class Landlock:
    """The confinement of one call."""

    rules: Rules
    name: str = NAME
    ends_all: bool = False

    @property
    def env(self) -> Mapping[str, str]:
        """The variables of a program: its home is its folder for temporary files."""
        return {"TMPDIR": str(self.rules.scratch), "HOME": str(self.rules.scratch)}

    def start(self, argv: Sequence[str], spawn: Spawn, limits: LimitKeys | None) -> Process:
        """Start a program that is held by the rules before it begins, and by its limits."""
        with _ruleset(self.rules) as ruleset:
            held = Held(ruleset.fileno(), flags=0, drop=os.geteuid() == 0)
            return spawn([*limits_command(limits), *argv], held)


@cache
def find_landlock() -> SandboxFinding:
    """Whether the kernel has Landlock, and we have what speaks to it."""
    if sys.platform != "linux":
        return SandboxFinding(NAME, False, "needs Linux")
    if find_spec("landlockpy") is None:
        return SandboxFinding(
            NAME, False, "landlockpy is not installed", "pip install 'artificer[sandbox]'"
        )
    from landlockpy import LandlockError, abi_version

    try:
        abi = abi_version()
    except (LandlockError, OSError) as error:
        return SandboxFinding(NAME, False, f"not in this kernel: {error}", "Linux 5.13 has it")
    return finding_of(abi)


def finding_of(abi: int) -> SandboxFinding:
    """Return the finding about a version of Landlock."""
    if abi < NETWORK_ABI:
        return SandboxFinding(
            NAME, True, f"ABI {abi}: files only", "Linux 6.7 can refuse TCP too", False
        )
    udp = "" if abi >= UDP_ABI else ", UDP is not held"
    return SandboxFinding(NAME, True, f"ABI {abi}: files and TCP{udp}")


def _ruleset(rules: Rules) -> Ruleset:
    """Everything is refused that this kernel can refuse, and the rules granted back."""
    from landlockpy import AccessFS, AccessNet, Ruleset, Scope

    ruleset = Ruleset(
        handled_net=AccessNet.NONE if rules.network else None,
        scoped=Scope.SIGNAL | Scope.ABSTRACT_UNIX_SOCKET,
    )
    read = AccessFS.EXECUTE | AccessFS.READ_FILE | AccessFS.READ_DIR
    device = AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.IOCTL_DEV
    for path in (*rules.readable, Path("/proc")):
        _allow(ruleset, path, read)
    for path in (*rules.writable, rules.scratch):
        _allow(ruleset, path, ruleset.handled_fs)
    for path in _DEVICES:
        _allow(ruleset, path, device)
    return ruleset


def _allow(ruleset: Ruleset, path: Path, access: AccessFS) -> None:
    from landlockpy import AccessFS

    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if not stat.S_ISDIR(path.stat().st_mode):  # the kernel refuses a folder's rights here
            access &= (
                AccessFS.EXECUTE
                | AccessFS.READ_FILE
                | AccessFS.WRITE_FILE
                | AccessFS.TRUNCATE
                | AccessFS.IOCTL_DEV
            )
        ruleset.allow_path(path, access)
