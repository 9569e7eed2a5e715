"""The providers of a run with a list of models, combined into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, NeedingKey, PreparedRequest, Provider, Requiring
from artificer.values.blocks import Message
from artificer.values.model import Delta, ModelFailure, ModelReply


class ProviderChain:
    """The providers of a run's model and of its fallbacks, in order.

    :meth:`with_left` returns the one of them that a request goes to. As its own provider it is
    the first one, and needs whatever all of them need.
    """

    def __init__(self, providers: Sequence[Provider]) -> None:
        self.providers = tuple(providers)

    def with_left(self, fallbacks: int) -> Provider:
        """Return the provider of the model that has so many fallbacks left."""
        return self.providers[max(0, len(self.providers) - 1 - fallbacks)]

    @property
    def name(self) -> str:
        """The name of the first provider."""
        return self.providers[0].name

    def require(self) -> None:
        """Check that every provider has what it needs, also those that may never be asked.

        Raises:
            MissingExtraError: an SDK is not installed.
            ConfigError: a key is not set.
        """
        for provider in self.providers:
            if isinstance(provider, Requiring):
                provider.require()

    async def require_key(self) -> None:
        """Check that every provider has its key. Raises ConfigError."""
        for provider in self.providers:
            if isinstance(provider, NeedingKey):
                await provider.require_key()

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map a request as the first provider does. Pure."""
        return self.providers[0].prepare(request, messages, memo)

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Ask the first provider."""
        return await self.providers[0].generate(prepared, on_delta)

    async def aclose(self) -> None:
        """Close all of them."""
        for provider in self.providers:
            await provider.aclose()


def chained(providers: Sequence[Provider]) -> Provider:
    """Return the one provider, or several as a chain."""
    return providers[0] if len(providers) == 1 else ProviderChain(providers)


def providers_of(provider: Provider) -> tuple[Provider, ...]:
    """Return the providers of a chain, or the one."""
    return provider.providers if isinstance(provider, ProviderChain) else (provider,)


def each(provider: Provider, change: Callable[[Provider], Provider]) -> Provider:
    """Return a provider changed, or a chain of changed ones."""
    if isinstance(provider, ProviderChain):
        return ProviderChain(tuple(map(change, provider.providers)))
    return change(provider)
