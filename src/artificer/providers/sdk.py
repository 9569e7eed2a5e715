"""The common part of the three SDK adapters: the client's lifetime, the key, the events."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from artificer.contracts.definition import ModelRequest
from artificer.contracts.model_settings import RequestSettings
from artificer.contracts.secret_references import references_in, with_secrets
from artificer.errors import ConfigError, MissingExtraError
from artificer.ports import FoundSecrets, Memo, PreparedRequest, SecretFinder
from artificer.providers.assembler import ReplyStream
from artificer.providers.attempts import AttemptLimits, OpenStream, generate_with_attempts
from artificer.providers.dialects import Dialect
from artificer.providers.endpoint import Endpoint, lacking, sendable
from artificer.secrets.resolver import ENVIRONMENT
from artificer.system.tls import shared_context
from artificer.values.blocks import Message
from artificer.values.model import Delta, ModelFailure, ModelReply

D = TypeVar("D", bound=Dialect)

MAX_RESPONSE = 16 * 1024 * 1024
"""Bytes of one event of a reply, or of a response that is not a stream of events."""


def http_options(timeout: float) -> dict[str, Any]:
    """Return the options of an SDK's HTTP client: a server's answers are bounded, and it sends no
    conversation on to another server.
    """
    from artificer.system.http_bounds import bounds

    return {
        "verify": shared_context(),
        "timeout": timeout,
        "follow_redirects": False,
        "event_hooks": bounds(MAX_RESPONSE),
    }


async def _open_until_closed(client: Any) -> AsyncGenerator[Any]:
    """Yield the client, and close it with the generator.

    A loop closes its generators before it ends, as ``asyncio.run`` does, and one that nobody holds
    any more. So the connections close in the loop that opened them: in another one they cannot.
    """
    try:
        yield client
    finally:
        await client.close()


@dataclass(frozen=True)
class OpenClient:
    """An SDK client that stays open while this is held."""

    client: Any
    loop: asyncio.AbstractEventLoop
    key: str
    lifetime: AsyncGenerator[Any]


class ClientOfLoop:
    """One SDK client per event loop, created when first needed.

    A client's connections belong to the loop that opened them. A provider that outlives
    ``asyncio.run`` gets a new client in the next loop.
    """

    def __init__(self) -> None:
        self._current: OpenClient | None = None

    async def get(self, key: str, make: Callable[[str], Any]) -> OpenClient:
        """Return the running loop's client for this key. Hold it until the request is done."""
        loop = asyncio.get_running_loop()
        current = self._current
        if current is None or current.loop is not loop or current.key != key:
            lifetime = _open_until_closed(make(key))
            current = OpenClient(await anext(lifetime), loop, key, lifetime)
            self._current = current
        return current

    async def aclose(self) -> None:
        """Close the client's connections. May be called more than once."""
        current, self._current = self._current, None
        if current is not None and current.loop is asyncio.get_running_loop():
            await current.lifetime.aclose()


class SdkProvider(ABC, Generic[D]):
    """A provider that uses an official SDK, for the vendor or for a compatible server.

    Without ``base_url`` the server is the vendor itself. With one it is a foreign server, which
    gets only what all of them understand, and no strict tools; pass ``dialect`` for one that
    differs. :class:`Endpoint` decides which key is used.
    """

    vendor: ClassVar[str]
    """Prefix of the environment variables with the vendor's key and base URL."""

    own_name: ClassVar[str]
    """The provider's default name."""

    sdk: ClassVar[str]
    """The SDK's module, which is also the name of the extra that installs it."""

    path: ClassVar[str]
    """The path of requests, below the base URL."""

    options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """The options of the SDK for each request."""

    def __init__(
        self,
        name: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        key_variable: str | None = None,
        key_optional: bool = False,
        dialect: D | None = None,
        limits: AttemptLimits | None = None,
        secrets: SecretFinder = ENVIRONMENT,
    ) -> None:
        self._name = name or self.own_name
        self._secrets = secrets
        self._endpoint = Endpoint(
            self.vendor, base_url, api_key, key_variable, key_optional, secrets
        )
        self._limits = limits or AttemptLimits()
        self._client = ClientOfLoop()
        self._dialect = dialect or self._usual_dialect(self._name, own=base_url is None)

    @property
    def name(self) -> str:
        """The part of a model's name before the slash."""
        return self._name

    @property
    def wire(self) -> str:
        """The mapping of requests: the protocol, vendor or foreign server, and features."""
        server = "vendor" if self._endpoint.base_url is None else "foreign"
        return "/".join((self._dialect.wire, server, *self._dialect.features))

    def refused(self, settings: RequestSettings) -> tuple[str, ...]:
        """Return the names of the settings that the server has no member for."""
        return self._dialect.refused(settings)

    @abstractmethod
    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map a request. Pure."""

    def require(self) -> None:
        """Check that there is the SDK, which is not imported, and a key that can be had at once.

        Raises:
            MissingExtraError: the SDK is not installed.
            ConfigError: the key is not set.
        """
        self._require_sdk()
        if self._secrets.local:
            self._require(self._endpoint.find())

    async def require_key(self) -> None:
        """Check that there is a key, wherever it is. Raises ConfigError (ports.NeedingKey)."""
        self._require(await self._endpoint.found())

    def _require(self, key: FoundSecrets) -> None:
        if key.missing:
            raise ConfigError(
                f"There is no API key for the provider {self._name!r}: {key.missing}.",
                hint=key.hint or None,
            )

    def _require_sdk(self) -> None:
        if find_spec(self.sdk) is None:
            raise MissingExtraError(self.sdk, needed_for=f"A model of the provider {self._name!r}")

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Return the model's reply. Raises MissingExtraError if the SDK is not installed."""
        self._require_sdk()
        key = await self._endpoint.key()
        if isinstance(key, ModelFailure):
            return key
        headers = (prepared.headers or {}).values()
        names = (name for text in headers for name in references_in(text))
        found = sendable(await self._secrets.found(names))
        if found.missing:
            return lacking("Not sent", found)
        open_client = await self._client.get(key, self._new_client)
        return await generate_with_attempts(
            self._opening(open_client, prepared, found.values),
            lambda: self._reply_stream(prepared),
            on_delta,
            self._limits,
            secret=key,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    @abstractmethod
    def _usual_dialect(self, name: str, *, own: bool) -> D:
        """Return the dialect of the vendor itself (``own``), or of a foreign server."""

    @abstractmethod
    def _new_client(self, key: str) -> Any:
        """Return the SDK's client, with its own retries off."""

    @abstractmethod
    def _stream_class(self) -> type:
        """Return the SDK's class of a stream of objects."""

    def _opening(
        self, open_client: OpenClient, prepared: PreparedRequest, secrets: Mapping[str, str]
    ) -> OpenStream:
        """Return a source of the events of one request.

        The client's ``post`` sends the body as it is and yields events as the server sent them.
        The methods for each endpoint would make a model of every event, check nothing, and refuse
        members that they do not know.
        """

        async def open_stream() -> Any:
            options = dict(self.options)
            if prepared.headers:
                options["headers"] = {
                    name: with_secrets(text, secrets) for name, text in prepared.headers.items()
                }
            return await open_client.client.post(
                self.path,
                cast_to=object,
                body=prepared.body,
                options=options,
                stream=True,
                stream_cls=self._stream_class(),
            )

        return open_stream

    @abstractmethod
    def _reply_stream(self, prepared: PreparedRequest) -> ReplyStream:
        """Return the stream that assembles the reply to this request."""


class OpenAISdkProvider(SdkProvider[D]):
    """A provider that uses OpenAI's SDK, which supports two protocols."""

    vendor = "OPENAI"
    sdk = "openai"
    options = MappingProxyType({"security": {"bearer_auth": True}})  # never an administrator's key

    def _stream_class(self) -> type:
        from openai import AsyncStream

        return AsyncStream[object]

    def _new_client(self, key: str) -> Any:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        timeout = self._limits.request
        return AsyncOpenAI(
            api_key=key,
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=DefaultAsyncHttpxClient(**http_options(timeout)),
        )
