"""The kinds of dispatchers, and opening the one that is configured."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from artificer.config import Config
from artificer.dispatch.assigned import assigned_runs
from artificer.dispatch.lanes import Lanes
from artificer.dispatch.local import LocalDispatcher
from artificer.errors import ConfigError
from artificer.plugins import Registry
from artificer.ports import DispatchedRun, Dispatcher, DispatcherKind, DispatcherPlace
from artificer.storage.world_names import name_from_url
from artificer.wiring.limits import lane_limits
from artificer.world import World, storage_of


class _Local:
    async def open(self, place: DispatcherPlace) -> Dispatcher:
        return LocalDispatcher(place.lanes, assigned=place.assigned)


LOCAL = _Local()

KINDS: Registry[DispatcherKind] = Registry(
    "artificer.dispatchers",
    DispatcherKind,  # type: ignore[type-abstract]  # a protocol that is checked at run time
    {
        "local": "artificer.dispatch.kinds:LOCAL",
        "temporal": "artificer.dispatch.temporal.kind:TEMPORAL",
    },
)
"""The kinds of dispatchers, by the scheme of the setting ``[worker] dispatcher``."""


async def open_dispatcher(config: Config, world: World, *, executes: bool = True) -> Dispatcher:
    """Open the dispatcher of a project, for a worker of its world, or for who only submits.

    Raises:
        ConfigError: there is no such kind, or its place cannot be used.
        MissingExtraError: the kind's library is not installed.
        OperatorError: its server does not answer.
    """
    worker = config.worker
    scheme = worker.dispatcher.partition(":")[0]
    kind = KINDS.get(scheme)
    if kind is None:
        raise ConfigError(
            f"Unknown dispatcher: {worker.dispatcher!r}. Known: {', '.join(KINDS.names)}.",
            hint="Correct [worker] dispatcher in artificer.toml, or --dispatcher.",
        )
    storage = storage_of(world)
    name = storage.world_name or world_name(config.storage, config.project_folder.name)
    lanes = Lanes(lane_limits(worker), storage.permits if executes else None)
    assigned = assigned_runs(world) if executes else None
    found = await kind.open(DispatcherPlace(worker.dispatcher, name, lanes, assigned))
    KINDS.made_by(scheme, found, "Dispatcher", ("submit", "wake", "cancel", "serve", "aclose"))
    return found


async def announce(world: World, wanted: DispatchedRun) -> None:
    """Notify the dispatcher of a project of a new run at once, where it is another program.

    Raises what `open_dispatcher` and `Dispatcher.submit` do: workers find the run all the same.
    """
    config = world.config
    if config.worker.dispatcher.partition(":")[0] == "local":
        return
    dispatcher = await open_dispatcher(config, world, executes=False)
    try:
        await dispatcher.submit(wanted)
    finally:
        await dispatcher.aclose()


def world_name(storage: str, project: str) -> str:
    """Return a name for a world without one that is the same on every machine which reaches it."""
    parts = urlsplit(storage)
    if not parts.scheme:
        return project
    schema = parse_qs(parts.query).get("schema", ["artificer"])[-1]  # the default, spelled out
    return name_from_url(parts.path, schema)
