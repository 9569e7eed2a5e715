"""Whose folder of an object store it is: an object in it names the world, and the world's site.

Another world would collect these objects as nobody's, and so would a copy of this one.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from artificer.errors import ConfigError, MovedError
from artificer.storage.world_site import WorldSite

NAME = "artificer-world"
"""The object that names the world."""


class ObjectClaim(Struct, frozen=True):
    """A world, by its id, and its site.

    ``former`` is the name of one that a release without ids made: its database and schema are the
    last words. With ``takes_over``, a claim for another site of the world is replaced: the operator
    says that it is gone.
    """

    world: str
    site: WorldSite
    former: str = ""
    takes_over: bool = False

    def written(self) -> bytes:
        """Return the object."""
        return msgspec.json.encode({"world": self.world, "site": str(self.site)})

    def holds(self, found: bytes, url: str) -> bool:
        """Whether an object is this claim already; False when it is to be replaced.

        Raises:
            ConfigError: it is that of another world.
            MovedError: it is that of this world at another site.
        """
        text = found.decode(errors="replace")
        if not text.startswith("{"):
            if self.former and text.split(" ")[-2:] == self.former.split(" ")[-2:]:
                return False
            raise _others(url)
        try:
            claim = msgspec.json.decode(found, type=dict[str, str])
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise _others(url) from None
        if claim.get("world") != self.world:
            raise _others(url)
        before = WorldSite.read(claim.get("site", ""))
        if before == self.site:
            return True
        if self.takes_over or (before is not None and self.site.is_promoted_from(before)):
            return False
        raise MovedError(
            f"The blobs at {url} belong to another copy of this world: it was restored elsewhere, "
            "or a replica of its server was promoted.",
            hint="If that copy is gone: `artificer init --world URL --restored`. If not, stop "
            "everything that uses this one: it is out of date.",
        )


def _others(url: str) -> ConfigError:
    return ConfigError(
        f"The blobs at {url} belong to another world.",
        hint="Name a separate folder: …&blobs=s3://bucket/NAME. If they are a copy, made for "
        f"this world, delete the object {NAME} in it.",
    )
