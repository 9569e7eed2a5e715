"""The providers of a project: which of them could answer, and what the others lack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from artificer.config import Config
from artificer.prices import priced_models
from artificer.providers.local_fetch import model_path
from artificer.wiring.extras import how_to_install, is_installed
from artificer.wiring.known_providers import KnownProvider, known_providers

SUGGESTED = ("anthropic/claude-sonnet-5-5", "openai/gpt-5", "local/smollm2")
"""A model of each built-in provider, to begin with."""

SDKS = {"anthropic": "anthropic", "openai": "openai", "openai-chat": "openai"}
"""The extra that each protocol needs."""


@dataclass(frozen=True, kw_only=True)
class ProviderFinding:
    """A provider: ``ok`` is None if it was never set up, and False if a setting is missing.

    ``key`` is the variable that holds its key, or empty. ``checked`` is False for a server that
    needs no key: nobody has looked whether it runs.
    """

    name: str
    ok: bool | None
    detail: str
    hint: str = ""
    key: str = ""
    checked: bool = True


def provider_findings(
    config: Config, known: Iterable[KnownProvider] | None = None
) -> list[ProviderFinding]:
    """Return every provider: the project's own, those built in, and the embedded model."""
    return [
        embedded_finding(config) if each.protocol == "local" else _finding(each)
        for each in (known_providers(config) if known is None else known)
    ]


def known_models(config: Config) -> dict[str, list[str]]:
    """Return the models that settings or our table name, by their providers."""
    named = [
        *config.default_models,
        *config.prices,
        *config.context_tokens,
        *SUGGESTED,
        *priced_models(),
    ]
    found: dict[str, list[str]] = {}
    for model in dict.fromkeys(named):
        found.setdefault(model.partition("/")[0], []).append(model)
    return found


def _finding(known: KnownProvider) -> ProviderFinding:
    key, extra = known.key_variable, SDKS.get(known.protocol, "")
    found = known.key_place
    where = f"{key} is set" if found == key else f"{key} is in {found}"
    detail = known.base_url or (where if found else f"{key} is not set")
    ok, hint = True if known.ready else (False if known.configured else None), ""
    if key and not found and not known.ready:
        hint = f"export {key}=…"
    elif not known.ready:
        detail, hint = "no address", "see docs/guides/models.md"
    elif extra and not is_installed(extra):
        ok, hint = None, how_to_install(extra)
    checked = bool(found) or not known.base_url  # a server without a key may not be running
    return ProviderFinding(
        name=known.name, ok=ok, detail=detail, hint=hint, key=key, checked=checked
    )


def embedded_finding(config: Config) -> ProviderFinding:
    """Return whether the embedded model, or the file in its place, can be used."""
    path = config.local_model or model_path(config.home)
    try:
        exists = path.exists()
    except PermissionError:
        detail = f"{path} cannot be read by this user"
        return ProviderFinding(name="local", ok=None, detail=detail)
    if exists and not is_installed("local"):
        detail = f"{path}, but the extra is missing"
        return ProviderFinding(name="local", ok=None, detail=detail, hint=how_to_install("local"))
    if exists:
        return ProviderFinding(name="local", ok=True, detail=str(path))
    if config.local_model:
        detail = f"{path} does not exist"
        return ProviderFinding(name="local", ok=False, detail=detail, hint="see local_model")
    hint = "artificer local fetch"
    return ProviderFinding(name="local", ok=None, detail="no model downloaded", hint=hint)
