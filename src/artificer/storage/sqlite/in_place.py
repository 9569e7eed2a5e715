"""The files of an open journal, which must stay where they are.

A file that was removed while it was open takes everything that is written to it afterwards with it.
A folder that was moved or restored holds another journal than the one that is open.
"""

from __future__ import annotations

from pathlib import Path

from artificer.errors import OperatorError
from artificer.system.files import identity_of


class FilesInPlace:
    """The files of the journal ``path``, as they are when it has been opened."""

    def __init__(self, path: Path) -> None:
        files = [Path(f"{path}{end}") for end in ("", "-wal", "-shm", "-anchor")]
        self._known = [(file, identity) for file in files if (identity := identity_of(file))]

    def check(self) -> None:
        """Check that they are still the same ones, before an effect.

        Raises:
            OperatorError: one of them is not. The effect must not start.
        """
        for file, identity in self._known:
            if identity_of(file) != identity:
                raise OperatorError(
                    f"{file} was removed, moved or replaced while it was in use.",
                    hint="No effect starts, because what is recorded now may be lost. End all that "
                    "uses the world, put its files back together, and run `artificer verify`.",
                )
