"""Facilities: what a run is given beside manifests and functions. Nothing, unless somebody says so.

They are recorded with the run, so that resuming it gives it what it had, whatever the settings say
by then.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from artificer.contracts.workspace.grant import Grant
from artificer.values.base import Value


class Host(Value):
    """A folder of this machine, for the host tools.

    With ``read_first`` a file is only changed as the run has read it. ``protect`` are names that
    are not written, wherever they stand in the folder; without ``write`` nothing is.
    """

    folder: Annotated[str, Field(min_length=1)]
    write: bool = True
    read_first: bool = True
    protect: tuple[str, ...] = (".git", "artificer.toml")


class Facilities(Value):
    """A folder, workspaces, and a look at the run itself."""

    host: Host | None = None
    workspaces: tuple[Grant, ...] = ()
    introspect: bool = False
