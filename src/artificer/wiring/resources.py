"""The resources of an open world: its stores, provider clients, policy engine and secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, Unpack
from weakref import WeakValueDictionary

from msgspec import Struct

from artificer.agent_definition import ExecutedTool, shared_tools
from artificer.backends.secrets.redaction import CleanBlobs, Redactor
from artificer.config import Config
from artificer.core.policy import Consult, Policy
from artificer.policies.engine import consult_here
from artificer.ports import (
    BlobStore,
    Clock,
    HasRequestLimits,
    Provider,
    SecretSource,
    SpendingLimit,
)
from artificer.runtime.limits.accounts import Account
from artificer.runtime.limits.budgets import Budgets
from artificer.runtime.limits.request_permits import NO_REQUEST_PERMITS, RequestPermits
from artificer.runtime.watching.feed import Feed
from artificer.runtime.watching.observe import Observer, Observers
from artificer.runtime.watching.relay import Relay
from artificer.values.arguments import new_run_id
from artificer.values.base import Digest
from artificer.wiring.clock import checked_clock
from artificer.wiring.limits import request_limits
from artificer.wiring.providers import ProviderPool, by_name
from artificer.wiring.secrets import (
    checked_sources,
    opened_secrets,
    redactor_of,
    redactor_of_everything,
)
from artificer.wiring.storage import OpenStorage

if TYPE_CHECKING:
    from artificer.runtime.listing.lister import RunLister
    from artificer.runtime.watching.stream import EventReader


class WorldParts(TypedDict, total=False):
    """Parts of a world that a program brings itself.

    The ``clock`` replaces that of the system. One of the ``providers`` whose name is ``mine``
    answers for the models ``mine/…``, before any other of that name. The ``tools`` (functions,
    executors, folders of manifests) are those of every run, next to the ones that are configured.
    The sources of ``secrets`` are asked before those that the settings name.
    """

    clock: Clock | None
    providers: Iterable[Provider]
    tools: Iterable[ExecutedTool]
    secrets: Iterable[SecretSource]


class CheckedParts(Struct, frozen=True):
    """The parts of a world, its own or those of the system."""

    clock: Clock
    providers: Mapping[str, Provider]
    tools: tuple[ExecutedTool, ...]
    secrets: tuple[SecretSource, ...] = ()

    @classmethod
    def of(cls, **parts: Unpack[WorldParts]) -> Self:
        """Check the parts that a program brings. Raises AuthorError for what is none."""
        return cls(
            checked_clock(parts.get("clock")),
            by_name(parts.get("providers", ())),
            shared_tools(parts.get("tools", ())),
            checked_sources(parts.get("secrets", ())),
        )


class WorldResources:
    """Shared by all runs of a world, and looked up once."""

    def __init__(
        self, config: Config, storage: OpenStorage, parts: CheckedParts | None = None
    ) -> None:
        parts = parts or CheckedParts.of()
        self.config = config
        self.storage = storage
        self.clock = parts.clock
        self.secrets = opened_secrets(config, parts.secrets)
        self.providers = ProviderPool(config, parts.providers, self.secrets)
        self.tools = parts.tools
        self.feed = Feed()
        self._trees: WeakValueDictionary[str, Account] = WeakValueDictionary()

    def new_run_id(self, wanted: str | None = None) -> str:
        """Return the id of a new run: the wanted one, or one of the clock. Raises AuthorError."""
        return new_run_id(self.clock.new_run_id() if wanted is None else wanted)

    @property
    def project(self) -> Path | None:
        """The folder of the world; None for one in memory."""
        return None if self.storage.locks is None else self.storage.locks.owner.project

    @cached_property
    def observer(self) -> Observer:
        """Hands what happens to readers here and in other processes."""
        return Observers(self.feed, Relay(self.project)) if self.project else self.feed

    def watch(self, observer: Observer) -> None:
        """Tell an observer what the runs do that are executed here, from those begun next on."""
        self.observer = Observers(self.observer, observer)

    def reader(self, run: str, after: int = 0) -> EventReader:
        """Return a reader of a run's events; the caller closes it."""
        from artificer.runtime.watching.stream import EventReader

        return EventReader(self.feed, self.storage, run, after)

    @cached_property
    def lister(self) -> RunLister:
        """Lists the runs of the world, and remembers how far it has read them."""
        from artificer.runtime.listing.lister import RunLister

        return RunLister(self.storage.storage)

    @cached_property
    def redactor(self) -> Redactor:
        """Removes the secrets that were there at the first run, and those resolved since."""
        return redactor_of(self.config, self.secrets)

    @cached_property
    def full_redactor(self) -> Redactor:
        """Removes short secrets and names too, from what a run reads of itself."""
        return redactor_of_everything(self.config, self.secrets)

    @cached_property
    def clean_blobs(self) -> BlobStore:
        """The store for the results of tools: without secrets."""
        return CleanBlobs(self.storage.blobs, self.redactor)

    @cached_property
    def _policy_engine(self) -> Consult | None:
        return consult_here()

    def consult(self, policy: Policy | None = None) -> Consult | None:
        """Return what evaluates Cedar policies, or None if it is not installed.

        Raises:
            MissingExtraError: it is not installed, and ``policy`` needs it.
        """
        return self._policy_engine or consult_here(policy)

    @cached_property
    def config_digest(self) -> Digest:
        """The digest of the settings."""
        return self.config.digest

    @cached_property
    def budgets(self) -> Budgets:
        """The budgets that every request of the world is held against."""
        account = Account(self.config.budget.day, self.config.price_of)
        return Budgets(self.storage.budget, (account,))

    @cached_property
    def request_permits(self) -> RequestPermits:
        """The permits that every request of the world waits for."""
        limits, storage = request_limits(self.config), self.storage
        shared: object = storage.storage
        if isinstance(shared, HasRequestLimits):  # those of the settings here count for us alone
            own = RequestPermits(storage.own_permits, limits) if limits else None
            return RequestPermits(storage.permits, shared.request_limits, own=own)
        return RequestPermits(storage.permits, limits) if limits else NO_REQUEST_PERMITS

    def tree_account(self, run: str, limit: SpendingLimit) -> Account:
        """Return the account of a run and its children, which share it in this process."""
        account = self._trees.get(run)
        if account is None or account.limit != limit:
            account = Account(limit, self.config.price_of, tree=run)
            self._trees[run] = account
        return account

    async def aclose(self) -> None:
        """Close the connections to providers, then the stores, even if a provider fails."""
        try:
            await self.providers.aclose()
        finally:
            await self.storage.aclose()


async def resources_over(
    config: Config, storage: OpenStorage, parts: CheckedParts | None = None
) -> WorldResources:
    """Return the resources of a world over its storage, which is closed if there are none.

    Raises ConfigError for settings of secrets or providers that cannot be used.
    """
    try:
        return WorldResources(config, storage, parts)
    except BaseException:  # an interrupt too: nobody else could close it
        await storage.aclose()
        raise
