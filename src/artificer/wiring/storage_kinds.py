"""The kinds of storage, and opening a project's."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from artificer.config import Config
from artificer.errors import ConfigError, NotFoundError
from artificer.plugins import Registry, on_call
from artificer.ports import Clock, Storage, StorageKind, StoragePlace

KINDS: Registry[StorageKind] = Registry(
    "artificer.storage",
    StorageKind,  # type: ignore[type-abstract]  # a protocol that is checked at run time
    {
        "sqlite": "artificer.storage.sqlite.storage:SQLITE",
        "memory": "artificer.storage.memory.storage:MEMORY",
        "postgresql": "artificer.storage.postgres.kind:POSTGRES",
        "postgres": "artificer.storage.postgres.kind:POSTGRES",  # as libpq spells it too
        "https": "artificer.storage.remote.storage:REMOTE",
        "http": "artificer.storage.remote.storage:REMOTE",  # of this machine alone
    },
)
"""The kinds of storage, by the scheme of the setting ``storage``."""

PARTS = ("journal", "blobs", "signals", "budget", "versions", "snapshots", "aclose")
"""The members of every storage."""

checked = on_call("artificer.storage.checked:checked")
"""Return a storage that is not ours with parts that are checked when they are used."""


async def opened(
    config: Config, *, read_only: bool, indexing: bool = False, clock: Clock | None = None
) -> Storage:
    """Open the project's storage.

    Read only, nothing is made or changed: where a folder has no world yet, it is an empty one. With
    ``indexing``, the index of texts is kept all the same.

    Raises:
        ConfigError: the kind of storage is not known, or its place cannot be used.
        NotFoundError: there is no world at the URL that the setting names, to be read only.
        TamperedError: the journal is gone, and other things of a world are there.
    """
    place = StoragePlace(
        config.project_folder, config.storage, config.durability, read_only, indexing, clock
    )
    storage = await _opened_at(place)
    if storage is None and "://" in config.storage:  # a wrong letter in it is not an empty world
        raise NotFoundError(
            "There is no world at the URL in the setting storage, or this user cannot see it.",
            hint="Correct the URL, its schema or its user. To create a world there: "
            "artificer init --world URL",
        )
    return storage if storage is not None else await _empty(place)


async def is_there(config: Config) -> bool:
    """Whether the project has a storage already. Raises what :func:`opened` raises."""
    place = StoragePlace(config.project_folder, config.storage, config.durability, read_only=True)
    storage = await _opened_at(place)
    if storage is not None:
        await storage.aclose()
    return storage is not None


async def _opened_at(place: StoragePlace) -> Storage | None:
    """Open what a kind of storage has at a place. A plug-in may return anything: it is checked."""
    scheme = place.url.partition(":")[0]
    try:
        opening: object = _kind(scheme).open(place)
        if not isinstance(opening, Awaitable):
            raise KINDS.fault_of(scheme, "has a method open that is not async.")
        storage: Storage | None = await opening
    except SystemExit as error:
        raise KINDS.fault_of(scheme, "raised SystemExit in open.") from error
    if storage is not None:
        KINDS.made_by(scheme, storage, "Storage", PARTS)
        if KINDS.is_plug_in(scheme):
            storage = checked(storage, partial(KINDS.fault_of, scheme))
    elif not place.read_only:
        raise KINDS.fault_of(scheme, "opened nothing, although the world is not only read.")
    return storage


def _kind(scheme: str) -> StorageKind:
    kind = KINDS.get(scheme)
    if kind is None:
        raise ConfigError(
            f"Unknown storage: {scheme!r}. Known: {', '.join(KINDS.names)}.",
            hint="Correct the setting storage, or install the package that adds it.",
        )
    return kind


async def _empty(place: StoragePlace) -> Storage:
    """The storage of a world that is only read and is not there."""
    memory = KINDS.get("memory")
    storage = await memory.open(place) if memory is not None else None
    assert storage is not None
    return storage
