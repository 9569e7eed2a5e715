"""Capabilities: the means of a run besides manifests and functions. None, unless configured.

They are recorded with the run, so that resuming it gives it the same, whatever the settings have
become.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from artificer.contracts.workspace_names import name_fault, path_fault, within
from artificer.values.base import CheckedValue, Meta

Operation = Literal["list", "read", "write", "remove", "diff", "commit"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

ANY = "*"
"""The name that stands for every workspace."""


class Grant(CheckedValue):
    """Some operations on some workspaces, below some paths; on all of each where none is named.

    A path covers itself and what lies below it: ``docs`` covers ``docs/a`` and not ``docs2``.
    """

    names: Annotated[tuple[str, ...], Meta(min_length=1)]
    operations: Annotated[tuple[Operation, ...], Meta(min_length=1)] = OPERATIONS
    paths: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse what cannot be the name of a workspace, or a path in one."""
        for index, name in enumerate(self.names):
            if name != ANY and (fault := name_fault(name)):
                raise self.invalid(f"/names/{index}", f"the workspace {name!r} {fault}")
        for index, path in enumerate(self.paths):
            if fault := path_fault(path):
                raise self.invalid(f"/paths/{index}", f"the path {path!r} {fault}")

    def covers(self, operation: Operation, name: str) -> bool:
        """Whether it speaks of the operation on some part of the workspace."""
        return operation in self.operations and (ANY in self.names or name in self.names)


def offered(grants: Sequence[Grant]) -> tuple[Operation, ...]:
    """The operations that some grant allows on something."""
    return tuple(o for o in OPERATIONS if any(o in grant.operations for grant in grants))


def allows(grants: Sequence[Grant], operation: Operation, name: str, path: str) -> bool:
    """Whether an operation on a path of a workspace is granted; the whole is the empty path."""
    return any(
        not grant.paths or any(within(path, prefix) for prefix in grant.paths)
        for grant in grants
        if grant.covers(operation, name)
    )


def prefixes(grants: Sequence[Grant], operation: Operation, name: str) -> tuple[str, ...]:
    """Below which paths an operation is granted on a workspace; the empty path is all of it."""
    found = {path for g in grants if g.covers(operation, name) for path in (g.paths or ("",))}
    return tuple(sorted(found))


class Host(CheckedValue):
    """A folder of this machine, for the host tools.

    With ``read_first`` a file is only changed as the run has read it. ``protect`` are names that
    are not written, wherever they stand in the folder; without ``write`` nothing is.
    """

    folder: Annotated[str, Meta(min_length=1)]
    write: bool = True
    read_first: bool = True
    protect: tuple[str, ...] = (".git", "artificer.toml")


class Capabilities(CheckedValue):
    """A folder, workspaces, and a look at the run itself."""

    host: Host | None = None
    workspaces: tuple[Grant, ...] = ()
    introspect: bool = False
