"""The needs of a run, looked for on this machine before it begins, so that no missing part ends a
conversation in the middle.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping

from artificer.contracts.secret_references import references_in
from artificer.core.spec import RunSpec
from artificer.errors import ConfigError
from artificer.ports import Executor, FoundSecrets, NeedingKey, NeedingSecrets, Provider, Requiring
from artificer.providers.caller import NAME as CALLER
from artificer.secrets.resolver import Secrets


def require(provider: Provider) -> None:
    """Check that a provider has its SDK and its model. Raises MissingExtraError, NotFoundError."""
    # A run asks for each of these when it begins; `isinstance` with a protocol takes 20 µs in 3.11.
    check: Callable[[], None] | None = getattr(provider, Requiring.require.__name__, None)
    if check is not None:
        check()


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
    check_key: Callable[[], Awaitable[None]] | None
    if check_key := getattr(provider, NeedingKey.require_key.__name__, None):
        await check_key()
    for name in _in_headers(spec):
        found = await secrets.found((name,))
        if found.missing:
            raise _lacking(f"The secret {name!r} of a header", found)
    if provider.name == CALLER:  # who calls has chosen a tool: its call says what is missing
        return
    unique = {id(executor): executor for executor in executors.values()}  # most tools share one
    needing = {key: each for key, each in unique.items() if isinstance(each, NeedingSecrets)}
    for tool in spec.tools().tools if needing else ():
        executor = needing.get(id(executors.get(tool.name)))
        if executor is not None:
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
