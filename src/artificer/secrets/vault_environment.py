"""The settings of a vault, as its command line reads them from the environment."""

from __future__ import annotations

import os


def vault_setting(name: str) -> str:
    """Return ``VAULT_…`` or else ``BAO_…`` of this name; empty if neither is set."""
    return os.environ.get(f"VAULT_{name}") or os.environ.get(f"BAO_{name}") or ""
