"""Limits of what a program may use, set on it from outside right after its start.

Not between fork and exec: a ``preexec_fn`` would cost the vfork, and with it milliseconds that
grow with our memory. What the program does in the microseconds before is not limited.
"""

from __future__ import annotations

import contextlib
import errno
import resource

from artificer.manifests.keys import LimitKeys

_MIB = 1024 * 1024

_OPTIONS = {
    resource.RLIMIT_AS: "--as",
    resource.RLIMIT_CPU: "--cpu",
    resource.RLIMIT_NOFILE: "--nofile",
    resource.RLIMIT_FSIZE: "--fsize",
}
"""The options of prlimit(1)."""


def set_limits(pid: int, limits: LimitKeys | None) -> None:
    """Limit a child of ours, and whatever it starts from then on.

    Raises OSError if the system cannot do so (it is not Linux).
    """
    wanted = _wanted(limits) if limits is not None else {}
    if wanted and not hasattr(resource, "prlimit"):
        raise OSError(errno.ENOSYS, "limits need Linux")
    for kind, limit in wanted.items():
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            _, hard = resource.prlimit(pid, kind)
            if hard != resource.RLIM_INFINITY:
                limit = min(limit, hard)
            resource.prlimit(pid, kind, (limit, limit))


def limits_command(limits: LimitKeys | None) -> list[str]:
    """The beginning of a command that sets limits on the rest of it; nothing if there are none.

    A limit that we are held to ourselves stays.
    """
    wanted = _wanted(limits) if limits is not None else {}
    options = []
    for kind, limit in wanted.items():
        _, hard = resource.getrlimit(kind)
        options.append(
            f"{_OPTIONS[kind]}={limit if hard == resource.RLIM_INFINITY else min(limit, hard)}"
        )
    return ["prlimit", *options, "--"] if options else []


def _wanted(limits: LimitKeys) -> dict[int, int]:
    """The limits that a manifest names, in the system's units."""
    named = {
        resource.RLIMIT_AS: (limits.memory_mb, _MIB),
        resource.RLIMIT_CPU: (limits.cpu_seconds, 1),
        resource.RLIMIT_NOFILE: (limits.files, 1),
        resource.RLIMIT_FSIZE: (limits.file_mb, _MIB),
    }
    return {kind: count * unit for kind, (count, unit) in named.items() if count is not None}
