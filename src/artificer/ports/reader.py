"""The port to runs as recorded in their journals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:  # a process of a function's own imports the ports, and none of this
    from artificer.core.record import EventLine, IntentLine
    from artificer.core.state import RunState


class RunView(Struct, frozen=True):
    """A run at a height of its journal: the number of its last record, and its hash."""

    height: int
    hash: str
    state: RunState
    lines: tuple[EventLine | IntentLine, ...]
    release: str


class RunReader(Protocol):
    """Shows a run from its journal."""

    async def view(self, run: str, height: int | None = None) -> RunView:
        """Return the run at a height, or at its end if that is lower or no height is given.

        Raises:
            NotFoundError: no such run.
            TamperedError: its journal is not what was written.
        """
