"""A runtime, put together."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from artificer.config import Config
from artificer.contracts.response_format import OutputCheck
from artificer.core.facts import Judges
from artificer.core.kinds import KINDS, RunKind
from artificer.core.policy import Policy
from artificer.policies.engine import consult_here
from artificer.ports import (
    Approver,
    Provider,
    Requiring,
)
from artificer.runtime.budgets import Account, Budgets
from artificer.runtime.engine import Engine
from artificer.runtime.observe import Observer
from artificer.runtime.perform import Performer
from artificer.system import SystemClock
from artificer.telemetry.enable import with_telemetry
from artificer.wiring.secrets import redactor_of
from artificer.wiring.storage import OpenStorage
from artificer.wiring.toolbox import ToolBox


def build_budgets(storage: OpenStorage, config: Config) -> Budgets:
    """Return what the world may spend."""
    return Budgets(storage.budget, (Account(config.budget.day, config.price_of),))


def build_engine(
    storage: OpenStorage,
    provider: Provider,
    tools: ToolBox,
    config: Config,
    *,
    approver: Approver | None = None,
    observer: Observer | None = None,
    policy: Policy | None = None,
    check: OutputCheck | None = None,
) -> Engine:
    """Put a runtime together. ``policy`` and ``check`` are those of the run to be driven.

    Raises:
        MissingExtraError: it has Cedar policies and there is no engine for them, telemetry is
            wanted and there is none, or the provider's SDK is not installed.
        NotFoundError: the provider's model is not here.
    """
    if isinstance(provider, Requiring):  # an open run that cannot go on would be left otherwise
        provider.require()
    performer = Performer(
        provider=provider,
        executors=tools.executors,
        approver=approver,
        blobs=storage.blobs,
        clock=SystemClock(),
        budgets=build_budgets(storage, config),
        clean=redactor_of(config).clean,
        locks=storage.locks,
    )
    watching = with_telemetry(
        observer or Observer(), enabled=config.telemetry.enabled, content=config.telemetry.content
    )
    return Engine(
        storage.journal,
        performer,
        storage.signals,
        watching,
        Judges(consult_here(policy), check),
        storage.snapshots,
        storage.owner,
    )


def system_prompt(kind: RunKind) -> str:
    """The system prompt of a kind of run."""
    return _prompt(KINDS[kind].prompt)


def compaction_prompt() -> str:
    """The system prompt of a request for a summary."""
    return _prompt("compact.md")


@lru_cache
def _prompt(name: str) -> str:
    prompts = resources.files("artificer.core") / "prompts"
    return (prompts / name).read_text(encoding="utf-8").strip()
