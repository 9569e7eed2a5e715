"""The kind of dispatcher ``temporal``: where the server is, and which queue is the world's."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from artificer.errors import ConfigError, MissingExtraError, OperatorError
from artificer.ports import DispatcherPlace

if TYPE_CHECKING:
    from artificer.dispatch.temporal.dispatcher import TemporalDispatcher

KNOWN = ("queue", "tls", "beat")
"""The parameters of the URL."""


class TemporalPlace(Struct, frozen=True):
    """A namespace of a server, and a task queue in it. What is empty is as Temporal's own
    settings say: its environment variables, or its file."""

    host: str = ""
    namespace: str = ""
    queue: str = ""
    tls: bool = False
    beat_s: float = 30.0


def place_of(url: str) -> TemporalPlace:
    """Read ``temporal``, or ``temporal://HOST:PORT/NAMESPACE?queue=…&tls=true&beat=30``.

    Raises:
        ConfigError: it is something else.
    """
    parts = urlsplit(url if ":" in url else "temporal:")
    query = parse_qs(parts.query, keep_blank_values=True)
    unknown = [name for name in query if name not in KNOWN]
    if unknown or parts.username or parts.password or parts.fragment:
        what = f"the parameter {unknown[0]!r}" if unknown else "a user or a fragment"
        raise ConfigError(
            f"The address of the Temporal server has {what}.",
            hint="Write temporal://HOST:PORT/NAMESPACE?queue=NAME. A key is read from "
            "TEMPORAL_API_KEY.",
        )
    try:
        beat = float(query.get("beat", ["30"])[-1])
    except ValueError:
        beat = 0.0
    if not 1 <= beat <= 3600:
        raise ConfigError("beat is how many seconds a worker may be silent: 1 to 3600.")
    return TemporalPlace(
        parts.netloc,
        parts.path.strip("/"),
        query.get("queue", [""])[-1],
        query.get("tls", [""])[-1] in ("1", "true", "yes"),
        beat,
    )


class _Temporal:
    async def open(self, place: DispatcherPlace) -> TemporalDispatcher:
        if find_spec("temporalio") is None:
            raise MissingExtraError("temporal", needed_for="The dispatcher temporal")
        from temporalio.client import Client
        from temporalio.envconfig import ClientConfig

        from artificer.dispatch.temporal.dispatcher import TemporalDispatcher

        wanted = place_of(place.url)
        settings: dict[str, Any] = dict(ClientConfig.load_client_connect_config())
        settings |= {"target_host": wanted.host} if wanted.host else {}
        settings |= {"namespace": wanted.namespace} if wanted.namespace else {}
        settings |= {"tls": True} if wanted.tls else {}
        settings.setdefault("target_host", "localhost:7233")
        try:
            client = await Client.connect(**settings)
        except (RuntimeError, ValueError) as error:
            raise OperatorError(
                f"The Temporal server at {settings['target_host']} does not answer.",
                hint="Start it, or correct [worker] dispatcher in artificer.toml.",
            ) from error
        queue = wanted.queue or f"artificer-{place.world}"
        return TemporalDispatcher(client, queue, place.lanes, wanted.beat_s, place.assigned)


TEMPORAL = _Temporal()
