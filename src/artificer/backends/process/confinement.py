"""How a program is started: as it is, or held by a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from artificer.backends.process.kept import Held
from artificer.backends.process.limits import set_limits
from artificer.backends.process.start import Process
from artificer.manifests.keys import LimitKeys

Spawn = Callable[[Sequence[str], Held | None], Process]
"""Starts a command in its own session, its streams and its environment already chosen."""


class Confinement(Protocol):
    """The confinement of one call's programs. ``env`` is put over their environment."""

    @property
    def name(self) -> str | None:
        """The sandbox's name; None when there is none."""
        ...

    @property
    def ends_all(self) -> bool:
        """Whether the kernel ends all that a program left, at the moment when it ends itself."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """Variables that must be as the sandbox has them."""
        ...

    def start(self, argv: Sequence[str], spawn: Spawn, limits: LimitKeys | None) -> Process:
        """Start a program with its limits. Raises OSError when that cannot be done."""
        ...


class Unconfined:
    """No sandbox: a program may do what we may."""

    name = None
    ends_all = False
    env: Mapping[str, str] = MappingProxyType({})

    def start(self, argv: Sequence[str], spawn: Spawn, limits: LimitKeys | None) -> Process:
        """Start a program with its limits."""
        return limited(spawn(argv, None), limits)


UNCONFINED = Unconfined()


def limited(process: Process, limits: LimitKeys | None) -> Process:
    """Set the limits of a program that has just been started; if that fails, it is ended."""
    try:
        set_limits(process.pid, limits)
    except OSError:
        process.kill()
        raise
    return process
