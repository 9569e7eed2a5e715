"""What the three adapters over an official SDK share: the client's life, the key, the events."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from artificer.errors import MissingExtraError
from artificer.ports import Payload
from artificer.providers.attempts import Limits, OpenStream
from artificer.providers.failures import failure
from artificer.values.model import ModelFailure

_DEMANDED = frozenset({"model", "messages", "max_tokens", "input", "stream"})


@dataclass(frozen=True)
class Endpoint:
    """Where requests go and whose key goes with them.

    ``vendor`` is the prefix of the provider's own environment variables. The key is ``api_key``,
    or what ``key_variable`` holds when a request is sent. Where neither is given, the vendor's
    key is used, but only for the vendor itself or the base URL that the environment names beside
    it: it must not leak to a server of another's.
    """

    vendor: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_variable: str | None = None

    def key(self) -> str | ModelFailure:
        """Return the key. A foreign server may want none; the vendor always does."""
        variable = self.key_variable
        if variable is None and self.base_url in (None, os.environ.get(f"{self.vendor}_BASE_URL")):
            variable = f"{self.vendor}_API_KEY"
        key = self.api_key or os.environ.get(variable or "", "")
        if key or self.base_url:
            return key or "none"
        return failure("auth", f"There is no API key: set the environment variable {variable}.")


class ClientOfLoop:
    """One SDK client per event loop, made when first needed.

    A client's connections belong to the loop that opened them: a provider that outlives
    ``asyncio.run`` gets a new client in the next one.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._key = ""
        self._client: Any = None

    def get(self, key: str, make: Callable[[str], Any]) -> Any:
        """Return the running loop's client for this key."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop or self._key != key:
            self._client, self._loop, self._key = make(key), loop, key
        return self._client

    async def aclose(self) -> None:
        """Close the client's connections. May be called more than once."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()


def new_openai_client(key: str, base_url: str | None, limits: Limits) -> Any:
    """Build the SDK's client, without its own retries. Raises MissingExtraError."""
    try:
        from openai import AsyncOpenAI
    except ImportError as error:
        raise MissingExtraError("openai", needed_for="A model of OpenAI's protocols") from error
    return AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0, timeout=limits.request)


def open_stream_with(create: Callable[..., Awaitable[Any]], payload: Payload) -> OpenStream:
    """Turn an SDK's ``create`` into a source of plain events.

    Members that ``create`` demands are given by name; all others go through ``extra_body``, since
    the SDKs refuse what they do not know (a server's own options; Anthropic's ``temperature``).
    """
    named = {name: value for name, value in payload.body.items() if name in _DEMANDED}
    others = {name: value for name, value in payload.body.items() if name not in _DEMANDED}

    @asynccontextmanager
    async def reading(stream: Any) -> AsyncIterator[AsyncIterator[object]]:
        async with stream:
            yield _plain_events(stream)

    async def open_stream() -> Any:
        return reading(await create(**named, extra_body=others))

    return open_stream


async def _plain_events(stream: Any) -> AsyncIterator[object]:
    """Yield events as the server sent them; the SDK's models add and check nothing."""
    async for event in stream:
        yield event.to_dict(warnings=False) if hasattr(event, "to_dict") else event
