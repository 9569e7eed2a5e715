"""The engine of a run, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from artificer.core.facts import Judges, OutputCheck
from artificer.core.policy import Policy
from artificer.core.spec import RunSpec
from artificer.errors import AuthorError
from artificer.ports import Approver, Provider
from artificer.providers.caller import NAME as CALLER
from artificer.runtime.engine import Engine
from artificer.runtime.limits.budgets import NO_BUDGETS
from artificer.runtime.limits.request_permits import NO_REQUEST_PERMITS
from artificer.runtime.perform import Performer
from artificer.runtime.watching.observe import Observer, Observers
from artificer.telemetry.enable import with_telemetry
from artificer.values.arguments import instance, offers
from artificer.wiring.providers import mapper_of
from artificer.wiring.resources import WorldResources
from artificer.wiring.toolbox import ToolBox

if TYPE_CHECKING:
    from artificer.runtime.builds.builder import Decider


class Attendance(Struct, frozen=True):
    """Who attends a run from this process: approves calls, decides about plans, observes.

    ``deps`` are what the program passes to the functions of the run. If it ``submits``, the runs of
    agents that a submitted run calls are submitted too, and left to workers.
    """

    approver: Approver | None = None
    decider: Decider | None = None
    observer: Observer | None = None
    deps: Any = None
    submits: bool = False

    def __post_init__(self) -> None:
        """Check what only a type checker would notice. Raises AuthorError."""
        if self.approver is not None and not offers(self.approver, "ask"):
            raise AuthorError(
                f"{self.approver!r} is not an approver.",
                hint="Pass an object with `async def ask(self, question) -> Answer`.",
            )
        if self.observer is not None:
            instance("observer", self.observer, Observer, "Pass a subclass of artificer.Observer.")
        if self.decider is not None and not offers(self.decider, "decide"):
            raise AuthorError(
                f"{self.decider!r} is not a decider.", hint="Pass an object with a method `decide`."
            )


def build_engine(
    world: WorldResources,
    provider: Provider,
    tools: ToolBox,
    attendance: Attendance | None = None,
    *,
    policy: Policy | None = None,
    check: OutputCheck | None = None,
) -> Engine:
    """Return the engine of a run with this ``policy``, whose final replies pass ``check``.

    Raises:
        MissingExtraError: the world has Cedar policies and no engine for them, or telemetry is
            wanted and there is none.
    """
    attendance = attendance or Attendance()
    storage, telemetry = world.storage, world.config.telemetry
    performer = Performer(
        provider=provider,
        executors=tools.executors,
        approver=attendance.approver,
        blobs=storage.blobs,
        clock=world.clock,
        budgets=NO_BUDGETS if provider.name == CALLER else world.budgets,
        clean=world.redactor.clean,
        locks=storage.locks,
        permits=NO_REQUEST_PERMITS if provider.name == CALLER else world.request_permits,
    )
    observer = with_telemetry(
        Observers(world.observer, attendance.observer) if attendance.observer else world.observer,
        enabled=telemetry.enabled,
        content=telemetry.content,
    )
    return Engine(
        storage.journal,
        performer,
        storage.signals,
        observer,
        Judges(world.consult(policy), check),
        storage.snapshots,
        storage.owner,
    )


def idle_engine(world: WorldResources, spec: RunSpec | None = None) -> Engine:
    """Return an engine that ends runs, and asks no model.

    ``spec`` is that of a run whose open calls it settles: a request may follow from them, which is
    recorded as the run's provider would send it, if that is known here.
    """
    mapper = mapper_of(spec, world.config, world.providers.own)
    engine = build_engine(world, mapper or world.providers.get("scripted"), ToolBox.empty())
    performer = replace(engine.performer, maps_requests=mapper is not None)
    return replace(engine, performer=performer, _loops={})
