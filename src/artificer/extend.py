"""The names for packages that add a backend, a provider, a storage or a command.

>>> from artificer.extend import Backend, ManifestSection

They are those that are not in :mod:`artificer`, :mod:`artificer.types` and :mod:`artificer.ports`,
and are imported when they are first used: a registration costs no more than what it names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from artificer.backends.backend import Backend
    from artificer.backends.context import ExecutorContext, ToolServers
    from artificer.backends.loader import load_folder
    from artificer.backends.sandbox.grants import Grants
    from artificer.backends.settings import BackendSettings
    from artificer.contracts.arguments.bind import BoundArguments
    from artificer.contracts.arguments.check import Fault
    from artificer.contracts.arguments.types import Argument
    from artificer.contracts.scope import Scope
    from artificer.manifests.keys import (
        EvidenceKeys,
        ExampleKeys,
        LimitKeys,
        ManifestKeys,
        OutputKeys,
        ProbeKeys,
        SandboxKeys,
        ToolKeys,
    )
    from artificer.manifests.model import Manifest, ManifestFile, ManifestSection, Probe
    from artificer.plugins import on_call
    from artificer.providers.registry import ProviderKind, ProviderPlace
    from artificer.storage.budget import changes_of
    from artificer.storage.chain import check_name, claimed, fenced, released, verify_link
    from artificer.storage.notes import BudgetCorrected, BudgetReserved, BudgetSettled
    from artificer.storage.sqlite.storage import SQLITE

_HOMES = {
    # a backend
    "Backend": "backends.backend",
    "BackendSettings": "backends.settings",
    "ExecutorContext": "backends.context",
    "Fault": "contracts.arguments.check",
    "Manifest": "manifests.model",
    "ManifestFile": "manifests.model",
    "ManifestKeys": "manifests.keys",
    "ManifestSection": "manifests.model",
    "load_folder": "backends.loader",
    "on_call": "plugins",
    # the values of manifests, as a backend reads them
    "Argument": "contracts.arguments.types",
    "BoundArguments": "contracts.arguments.bind",
    "EvidenceKeys": "manifests.keys",
    "ExampleKeys": "manifests.keys",
    "Grants": "backends.sandbox.grants",
    "LimitKeys": "manifests.keys",
    "OutputKeys": "manifests.keys",
    "Probe": "manifests.model",
    "ProbeKeys": "manifests.keys",
    "SandboxKeys": "manifests.keys",
    "Scope": "contracts.scope",
    "ToolKeys": "manifests.keys",
    "ToolServers": "backends.context",
    # a provider
    "ProviderKind": "providers.registry",
    "ProviderPlace": "providers.registry",
    # a storage: the built-in one, and the rules of a journal and of budgets, which write nothing
    "SQLITE": "storage.sqlite.storage",
    "BudgetCorrected": "storage.notes",
    "BudgetReserved": "storage.notes",
    "BudgetSettled": "storage.notes",
    "changes_of": "storage.budget",
    "check_name": "storage.chain",
    "claimed": "storage.chain",
    "fenced": "storage.chain",
    "released": "storage.chain",
    "verify_link": "storage.chain",
}

__all__ = [
    "Backend",
    "BackendSettings",
    "ExecutorContext",
    "Fault",
    "Manifest",
    "ManifestFile",
    "ManifestKeys",
    "ManifestSection",
    "load_folder",
    "on_call",
    "Argument",
    "BoundArguments",
    "EvidenceKeys",
    "ExampleKeys",
    "Grants",
    "LimitKeys",
    "OutputKeys",
    "Probe",
    "ProbeKeys",
    "SandboxKeys",
    "Scope",
    "ToolKeys",
    "ToolServers",
    "ProviderKind",
    "ProviderPlace",
    "SQLITE",
    "BudgetCorrected",
    "BudgetReserved",
    "BudgetSettled",
    "changes_of",
    "check_name",
    "claimed",
    "fenced",
    "released",
    "verify_link",
]


if not TYPE_CHECKING:  # or a type checker would find any name here

    def __getattr__(name: str) -> object:
        if (home := _HOMES.get(name)) is None:
            raise AttributeError(f"module 'artificer.extend' has no attribute {name!r}")
        return globals().setdefault(name, getattr(import_module(f"artificer.{home}"), name))

    def __dir__() -> list[str]:
        return sorted(__all__)
