"""The model servers of this machine: which of them answer, and with which models.

A request goes to addresses of this machine only, and is bounded in time and size.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from artificer.config import Config
from artificer.providers.profiles import PROTOCOL
from artificer.secrets.resolver import Secrets
from artificer.system.loopback import is_loopback
from artificer.wiring.known_providers import KnownProvider, known_providers
from artificer.wiring.provider_findings import ProviderFinding, known_models, provider_findings
from artificer.wiring.secrets import opened_secrets

TIMEOUT_S = 0.7
"""Seconds that a server of this machine has to list its models."""

MAX_ANSWER = 1_000_000
MAX_MODELS = 100
MAX_NAME = 200


SILENT = "nothing answers there"
"""The hint about a server that does not run."""


@dataclass(frozen=True)
class CheckedProvider:
    """A provider with the models that are known, and whether it has answered just now."""

    finding: ProviderFinding
    models: tuple[str, ...]
    answered: bool


async def ask_local(config: Config) -> list[CheckedProvider]:
    """Return every provider, after the servers of this machine were asked for their models.

    One that is silent is not ready, and not wrong: it may be started when it is wanted.
    """
    known = await asyncio.to_thread(known_providers, config)  # a vault may be asked for keys
    here, named = await local_models(config, known), known_models(config)
    silent = {one.name for one in known if is_local(one)} - here.keys()
    found = []
    for finding in provider_findings(config, known):
        name, entry = finding.name, finding
        if name in silent and finding.ok:
            entry = replace(finding, ok=None, hint=SILENT)
        elif name in here:
            entry = replace(finding, checked=True)
        models = dict.fromkeys([*named.get(name, ()), *here.get(name, ())])
        found.append(CheckedProvider(entry, tuple(models), answered=name in here))
    return found


def is_local(known: KnownProvider) -> bool:
    """Whether a provider is a server of this machine that lists its models."""
    if known.protocol != PROTOCOL or not known.base_url:
        return False
    return is_loopback(urlsplit(known.base_url).hostname or "")


async def local_models(
    config: Config, providers: Iterable[KnownProvider]
) -> dict[str, tuple[str, ...]]:
    """Return the models of the servers that answer, by provider."""
    servers, secrets = [known for known in providers if is_local(known)], opened_secrets(config)
    answers = await asyncio.gather(*(_models(known, secrets) for known in servers))
    return {
        known.name: models
        for known, models in zip(servers, answers, strict=True)
        if models is not None
    }


async def _models(known: KnownProvider, secrets: Secrets) -> tuple[str, ...] | None:
    """Return the models that a server lists; none where it lists none, None if it is not there.

    A server that is busy with a reply may be silent for long: a connection is enough to be there.
    """
    url, variable = urlsplit(known.base_url), known.key_variable
    key = (await secrets.found_key(variable)).values.get(variable, "") if known.key_place else ""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            secure = ssl.create_default_context() if url.scheme == "https" else None
            port = url.port or (443 if secure else 80)
            reader, writer = await asyncio.open_connection(url.hostname, port, ssl=secure)
    except (OSError, TimeoutError, ValueError):
        return None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            writer.write(_request(url, key))
            entries = json.loads(await _body(reader))["data"]
        names = [entry["id"] for entry in entries[:MAX_MODELS]]
    except (OSError, TimeoutError, ValueError, LookupError, TypeError, RecursionError):
        return ()
    finally:
        writer.close()
    return tuple(f"{known.name}/{name}" for name in names if _is_name(name))


def _request(url: SplitResult, key: str) -> bytes:
    lines = [f"GET {url.path.rstrip('/')}/models HTTP/1.0", f"Host: {url.netloc}"]
    if key and key.isascii() and key.isprintable():
        lines.append(f"Authorization: Bearer {key}")
    return "\r\n".join([*lines, "Accept: application/json", "", ""]).encode()


async def _body(reader: asyncio.StreamReader) -> bytes:
    """Return the body of an answer. Raises ValueError for one that is not a success."""
    answer = b""
    while len(answer) < MAX_ANSWER and (piece := await reader.read(65_536)):
        answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise ValueError("the server has no list of models")
    return body


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME
