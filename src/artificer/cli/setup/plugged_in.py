"""The additions of installed packages, for ``artificer doctor``."""

from __future__ import annotations

from typing import Any

from artificer.cli.main import REGISTRY as COMMANDS
from artificer.dispatch.kinds import KINDS as DISPATCHERS
from artificer.manifests.registry import BACKENDS
from artificer.plugins import PlugIn, Registry
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
    return [found for registry in REGISTRIES for found in registry.plug_ins()]
