"""The needs of a run, looked for on this machine before it begins, so that no missing part ends a
conversation in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from artificer.contracts.secret_references import references_in
from artificer.core.spec import RunSpec
from artificer.errors import ConfigError
from artificer.ports import Executor, FoundSecrets, NeedingKey, NeedingSecrets, Provider, Requiring
from artificer.providers.caller import NAME as CALLER
from artificer.secrets.resolver import Secrets


def require(provider: Provider) -> None:
    """Check that a provider has its SDK and its model. Raises MissingExtraError, NotFoundError."""
    if isinstance(provider, Requiring):
        provider.require()


async def require_secrets(
    secrets: Secrets,
    spec: RunSpec,
    provider: Provider,
    executors: Mapping[str, Executor],
) -> None:
    """Check that what a run refers to can be had here: its keys, and the secrets of its tools.

    ``executors`` are those of the tools whose secrets are looked for. Raises ConfigError, which
    names the reference and where it was looked for.
    """
    await secrets.prepare()
    if isinstance(provider, NeedingKey):
        await provider.require_key()
    for name in _in_headers(spec):
        found = await secrets.found((name,))
        if found.missing:
            raise _lacking(f"The secret {name!r} of a header", found)
    if provider.name == CALLER:  # who calls has chosen a tool: its call says what is missing
        return
    for tool in spec.tools().tools:
        executor = executors.get(tool.name)
        if executor is not None and isinstance(executor, NeedingSecrets):
            found = await secrets.found(executor.needed_secrets(tool.name))
            if found.missing:
                raise _lacking(f"The tool {tool.name!r} needs the secret {found.name!r}", found)


def _in_headers(spec: RunSpec) -> Iterator[str]:
    """Yield the names of the secrets in the headers of a run's requests."""
    for model in (spec.as_fallback(), *spec.fallbacks):
        for turn in model.settings:
            yield from references_in(turn.headers)


def _lacking(what: str, found: FoundSecrets) -> ConfigError:
    return ConfigError(f"{what}: {found.missing}.", hint=found.hint or None)
