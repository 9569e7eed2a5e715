"""The storage ``elsewhere://FOLDER``: the world's database and blobs in a folder of your choice.

With ``storage = "elsewhere:///mnt/fast/worlds"`` they are below ``/mnt/fast/worlds``, in a folder
with the project's name. Locks and views stay in the home folder.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import structs

from artificer.errors import ConfigError
from artificer.extend import SQLITE
from artificer.ports import Storage, StoragePlace


class Elsewhere:
    """Opens the built-in storage in another folder (``artificer.ports.StorageKind``)."""

    async def open(self, place: StoragePlace) -> Storage | None:
        """Open the storage, and create it if it does not exist."""
        url = urlsplit(place.url)
        if url.netloc or not url.path.startswith("/"):
            raise ConfigError(
                f"{place.url!r} does not name a folder.",
                hint='Write storage = "elsewhere:///an/absolute/folder" in artificer.toml.',
            )
        folder = Path(unquote(url.path)) / place.folder.name
        return await SQLITE.open(structs.replace(place, folder=folder))


STORAGE = Elsewhere()
