"""Reading the section of a backend, held to its protocol: it may be a stranger's code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from artificer.contracts.arguments.check import Fault
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.model import ManifestSection
from artificer.manifests.registry import BACKENDS


def read_section(
    section: ManifestSection[Any, Any],
    manifest: ManifestKeys,
    keys: BaseModel,
    faults: list[Fault],
    *,
    compat: bool,
) -> Any:
    """Return a section's part of a manifest; add its faults.

    Raises:
        ConfigError: it returned nothing and no reason for that, or a fault that is none.
    """
    found: list[Fault] = []
    part = section.read(manifest, keys, found, compat=compat)
    faults += checked_faults(section.name, found)
    if part is None and all(compat and fault.lenient for fault in found):
        raise BACKENDS.fault_of(
            section.name, f"read [{section.name}] as None, and added no fault that says why."
        )
    return part


def checked_faults(section: str, found: object) -> list[Fault]:
    """Return what a section has added to the faults of a manifest. Raises ConfigError."""
    faults: list[Fault] = []
    if not isinstance(found, Iterable):
        what = f"returned an object of type {type(found).__name__}, not an iterable of faults."
        raise BACKENDS.fault_of(section, what)
    for fault in found:
        if not isinstance(fault, Fault):
            what = f"added an object of type {type(fault).__name__} to the faults, not a Fault."
            raise BACKENDS.fault_of(section, what)
        path, message = _members(fault)
        if not (isinstance(path, tuple) and all(isinstance(step, str) for step in path)):
            what = f"added a fault whose path is no tuple of texts: {path!r:.80}."
            raise BACKENDS.fault_of(section, what)
        if not isinstance(message, str):
            what = f"added a fault whose message is of type {type(message).__name__}."
            raise BACKENDS.fault_of(section, what)
        faults.append(fault)
    return faults


def _members(fault: Fault) -> tuple[object, object]:
    return fault.path, fault.message
