"""The site of a world: a restored copy, or a server that was behind, is at another one."""

from __future__ import annotations

from msgspec import Struct


class WorldSite(Struct, frozen=True):
    """Where a world's tables are. A dump that is restored is elsewhere; a replica is not, until it
    is promoted: then its ``timeline``, of eight hexadecimal digits, is a later one.
    """

    server: str
    database: str
    schema: str
    timeline: str

    @classmethod
    def read(cls, text: str) -> WorldSite | None:
        """Return the site that a text names, None for another text."""
        parts = text.split(" ")
        return cls(*parts) if len(parts) == 4 else None

    def __str__(self) -> str:
        return f"{self.server} {self.database} {self.schema} {self.timeline}"

    def is_promoted_from(self, former: WorldSite) -> bool:
        """Whether this is the same server, or a replica of it, after a promotion."""
        same = (self.server, self.database, self.schema)
        before = (former.server, former.database, former.schema)
        return same == before and self.timeline > former.timeline
