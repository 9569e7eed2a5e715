"""The sandbox of a configuration, for the programs of builds."""

from __future__ import annotations

import os

from msgspec.structs import replace

from artificer.backends.sandbox.grants import Grants
from artificer.backends.sandbox.sandbox import choose, findings
from artificer.config import Config
from artificer.runtime.builds.toolchains import toolchains
from artificer.system.home import user_home
from artificer.wiring.sandbox import grants_of


def grants_of_build(config: Config) -> Grants:
    """Return the grants of the programs of a build, which a model writes.

    Where there is a sandbox, it is used unless the configuration says otherwise. Toolchains in the
    home may be read.
    """
    grants = grants_of(config)
    mode = config.sandbox.mode or "auto"
    known = tuple(toolchains(os.environ, user_home()))
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
