"""The findings about a sandbox on this machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SandboxFinding:
    """Whether a sandbox works here, and what to do where it does not."""

    name: str
    works: bool
    detail: str
    hint: str = ""
    holds_network: bool = True
