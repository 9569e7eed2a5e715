"""The additions of installed packages, for ``artificer doctor``."""

from __future__ import annotations

from typing import Any

from artificer.cli.main import REGISTRY as COMMANDS
from artificer.dispatch.kinds import KINDS as DISPATCHERS
from artificer.errors import ConfigError
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.registry import BACKENDS, section_of
from artificer.plugins import PlugIn, Registry
from artificer.providers.profiles import profiles
from artificer.providers.registry import PROVIDERS
from artificer.secrets.kinds import KINDS as SECRETS
from artificer.wiring.storage_kinds import KINDS as STORAGES

REGISTRIES: tuple[Registry[Any], ...] = (
    BACKENDS,
    COMMANDS,
    DISPATCHERS,
    PROVIDERS,
    SECRETS,
    STORAGES,
)
"""Every registry that an entry-point group adds to."""


def plug_ins() -> list[PlugIn]:
    """Return what every installed package adds, and why it cannot be used. Imports all of it."""
    return [
        found if found.fault else found._replace(fault=_unreachable(found))
        for registry in REGISTRIES
        for found in registry.plug_ins()
    ]


def _unreachable(found: PlugIn) -> str:
    """Return why nothing can lead to a plug-in that is sound in itself; else an empty text."""
    name = found.name
    if found.group == PROVIDERS.group and name in profiles():
        return f"{name!r} of {found.package} is never asked: it is the name of a built-in server."
    if found.group == BACKENDS.group and name in ManifestKeys.model_fields:
        return f"{name!r} of {found.package} is never read: it is a key of every manifest."
    if found.group == BACKENDS.group:
        try:
            section_of(name)
        except ConfigError as error:
            return error.message
    return ""
