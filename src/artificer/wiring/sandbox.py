"""The sandbox of a configuration, for the programs of manifests and of builds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from artificer.backends.sandbox.sandbox import Grants, choose, findings
from artificer.config import FILE_NAME, Config
from artificer.runtime.builds.toolchains import toolchains


def grants_of(config: Config) -> Grants:
    """Return the grants of a sandbox; the configuration itself is never theirs to write."""
    wanted = config.sandbox
    return Grants(
        mode=wanted.mode or "off",
        writable=wanted.writable,
        readable=wanted.readable,
        network=wanted.network,
        kept=(Path(FILE_NAME).absolute(),),
    )


def grants_of_build(config: Config) -> Grants:
    """The same for the programs of a build, which a model writes: where there is a sandbox, it is
    used, unless the configuration says otherwise; toolchains of the home may be read."""
    grants = grants_of(config)
    mode = config.sandbox.mode or "auto"
    known = tuple(toolchains(os.environ, Path.home()))
    return replace(grants, mode=mode, readable=(*grants.readable, *known))


def held_by(config: Config) -> str:
    """Say in a sentence what holds the programs of a build."""
    grants = grants_of_build(config)
    if grants.mode == "off":
        return "no sandbox holds the programs of this build: [sandbox] mode is off"
    found = findings()
    chosen = choose(grants.mode, grants.network, found)
    if chosen is not None:
        return f"the programs of this build are held by {chosen.name}"
    reasons = "; ".join(f"{finding.name}: {finding.detail}" for finding in found)
    return f"no sandbox holds the programs of this build, for none works here ({reasons})"
