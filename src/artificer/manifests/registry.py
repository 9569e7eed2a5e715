"""The backends that manifests may name: those built in, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from artificer.manifests.keys import ManifestKeys
from artificer.manifests.model import ManifestSection
from artificer.plugins import Registry


@dataclass(frozen=True, kw_only=True)
class RegisteredBackend:
    """A registered backend, as far as reading manifests needs it."""

    section: ManifestSection[Any, Any]


BACKENDS = Registry(
    "artificer.backends",
    RegisteredBackend,
    {
        name: f"artificer.backends.{name}.backend:BACKEND"
        for name in ("command", "http", "mcp", "session", "browser")
    },
    "Backend",
)
"""In the order in which the format's reference prefers sections where there are several."""

Sections = dict[str, ManifestSection[Any, Any]]


def section_of(name: str) -> ManifestSection[Any, Any] | None:
    """Return the section of that name, or None. Raises ConfigError for an unusable plug-in."""
    found = BACKENDS.get(name)
    if found is None:
        return None
    section: object = found.section
    if not isinstance(section, ManifestSection):
        kind = type(section).__name__
        raise BACKENDS.fault_of(name, f"has a section of type {kind}, not a ManifestSection.")
    with BACKENDS.errors_of(name, "its section was asked for its name"):
        own = getattr(section, "name", None)
    if own != name:
        what = f"has the section [{own}], whose name its entry point must have."
        raise BACKENDS.fault_of(name, what)
    return found.section


def sections_in(names: Iterable[str]) -> Sections:
    """Return the sections of backends among the keys of a file, the preferred one first."""
    found = {
        name: section
        for name in names
        if name not in ManifestKeys.model_fields and (section := section_of(name)) is not None
    }
    order = BACKENDS.names if len(found) > 1 else tuple(found)
    return {name: found[name] for name in order if name in found}
