"""Folders of manifests, with what performs their calls and what holds their programs."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from artificer.config import FILE_NAME, Config
from artificer.contracts.facilities import Host
from artificer.errors import NotFoundError
from artificer.ports import (
    Executor,
)
from artificer.wiring.secrets import clean_blobs
from artificer.wiring.servers import build_servers
from artificer.wiring.storage import Storage

if TYPE_CHECKING:
    from artificer.backends.command.executor import CommandTool
    from artificer.backends.mcp.servers import McpServers
    from artificer.backends.sandbox.sandbox import Grants


def manifests(
    folder: Path,
    storage: Storage,
    config: Config,
    servers: McpServers | None,
    host: Host | None,
) -> list[Executor]:
    """The executors of a folder: one for its commands, one for its requests, one a server.

    Programs run in the folder that the run is given, if it is given one.
    """
    from artificer.backends.command.executor import CommandExecutor
    from artificer.backends.loader import load_folder

    if not folder.is_dir():
        raise NotFoundError(f"There is no folder {str(folder)!r} with tools.")
    tools = load_folder(folder, compat=config.tools_compat, trusted_keys=config.tools_keys)
    by_backend: defaultdict[str, list[CommandTool]] = defaultdict(list)
    for tool in tools:
        by_backend[tool.manifest.backend].append(tool)
    grants, cwd = grants_of(config), Path(host.folder) if host else None
    blobs = clean_blobs(storage, config)
    commands = CommandExecutor(
        by_backend["command"],
        cwd=cwd,
        blobs=blobs,
        evidence=storage.evidence,
        grants=grants,
    )
    executors: list[Executor] = [commands]
    if by_backend["http"]:
        from artificer.backends.http.executor import HttpExecutor

        requests = [tool.manifest for tool in by_backend["http"]]
        executors.append(HttpExecutor(requests, blobs=blobs))
    if by_backend["session"]:
        from artificer.backends.session.executor import SessionExecutor

        sessions = [tool.manifest for tool in by_backend["session"]]
        executors.append(SessionExecutor(sessions, cwd=cwd, blobs=blobs, grants=grants))
    if by_backend["browser"]:
        from artificer.backends.browser.executor import BrowserExecutor

        browsers = [tool.manifest for tool in by_backend["browser"]]
        executors.append(BrowserExecutor(browsers, blobs=blobs, live=config.browser.live))
    if by_backend["mcp"]:
        servers = servers or build_servers(config, storage)
        executors += servers.wanted([tool.manifest for tool in by_backend["mcp"]])
    return executors


def grants_of(config: Config) -> Grants:
    """What a sandbox lets programs do; the configuration itself is never theirs to write."""
    from artificer.backends.sandbox.sandbox import Grants

    wanted = config.sandbox
    return Grants(
        mode=wanted.mode,
        writable=wanted.writable,
        readable=wanted.readable,
        network=wanted.network,
        kept=(Path(FILE_NAME).absolute(),),
    )


def grants_of_build(config: Config) -> Grants:
    """The same for the programs of a build, which a model writes: where there is a sandbox, it is
    used, unless the configuration says otherwise; toolchains of the home may be read."""
    from artificer.runtime.builds.toolchains import toolchains

    grants = grants_of(config)
    mode = grants.mode if "mode" in config.sandbox.model_fields_set else "auto"
    known = tuple(toolchains(os.environ, Path.home()))
    return replace(grants, mode=mode, readable=(*grants.readable, *known))


def held_by(config: Config) -> str:
    """Say in a sentence what holds the programs of a build."""
    from artificer.backends.sandbox.sandbox import choose, findings

    grants = grants_of_build(config)
    if grants.mode == "off":
        return "no sandbox holds the programs of this build: [sandbox] mode is off"
    found = findings()
    chosen = choose(grants.mode, grants.network, found)
    if chosen is not None:
        return f"the programs of this build are held by {chosen.name}"
    reasons = "; ".join(f"{finding.name}: {finding.detail}" for finding in found)
    return f"no sandbox holds the programs of this build, for none works here ({reasons})"
