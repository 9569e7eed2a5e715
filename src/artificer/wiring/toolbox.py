"""The tools of a run, from wherever they come, with the executors that perform them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artificer.artifacts import catalog
from artificer.backends.artifact import ArtifactExecutor
from artificer.backends.function.executor import FunctionExecutor, FunctionTool
from artificer.backends.secrets.redaction import Redactor
from artificer.config import Config
from artificer.contracts.definition import ToolDefinition, Toolset, toolset
from artificer.contracts.facilities import Facilities
from artificer.core.kinds import KINDS, RunKind
from artificer.errors import ConfigError
from artificer.ports import (
    Executor,
)
from artificer.system import SystemClock, keep_memory_private
from artificer.values.model import ToolChoice
from artificer.wiring.folders import manifests
from artificer.wiring.secrets import _secrets
from artificer.wiring.storage import Storage

if TYPE_CHECKING:
    from artificer.backends.mcp.servers import McpServers
    from artificer.backends.workspace.service import Workspaces

Tool = FunctionTool[..., Any] | Executor | str | Path
"""A decorated function, an executor of your own, or a folder of manifests."""


@dataclass(frozen=True)
class ToolBox:
    """Tools with the executors that perform them."""

    toolset: Toolset
    executors: Mapping[str, Executor]
    folders: tuple[str, ...]

    @classmethod
    def empty(cls) -> ToolBox:
        """No tools."""
        return cls(Toolset(), {}, ())

    def narrowed(self, names: Iterable[str] | None) -> ToolBox:
        """Only the tools of these names, or all for None. Raises ConfigError for an unknown one."""
        if names is None:
            return self
        wanted = list(names)
        unknown = [name for name in wanted if self.toolset.get(name) is None]
        if unknown:
            known = ", ".join(self.toolset.names) or "none"
            raise ConfigError(f"There is no tool called {unknown[0]!r}.", hint=f"Known: {known}.")
        kept = tuple(tool for tool in self.toolset.tools if tool.name in wanted)
        return replace(self, toolset=Toolset(tools=kept))

    def must_offer(self, choices: Iterable[ToolChoice]) -> None:
        """Raise ConfigError unless every tool that a choice demands is one of these."""
        self.narrowed([choice.name for choice in choices if choice.name is not None])

    def must_match(self, recorded: Toolset) -> None:
        """Raise ConfigError unless every tool of a recorded toolset is here, and still the same."""
        for tool in recorded.tools:
            here = self.toolset.get(tool.name)
            if here is None or here.contract != tool.contract:
                what = "is not here" if here is None else "has changed since the run began"
                raise ConfigError(
                    f"The tool {tool.name!r} {what}.",
                    hint="Give the run its tools again, as they were: --tools FOLDER.",
                )


def build_tools(
    tools: Iterable[Tool],
    *,
    kind: RunKind,
    storage: Storage,
    config: Config,
    servers: McpServers | None = None,
    facilities: Facilities | None = None,
) -> ToolBox:
    """Collect the tools of a run. ``servers`` are those whose tools manifests may name.

    From here on programs may be started, so the memory of this process is closed to them.

    Raises:
        ManifestError: a manifest of a folder cannot be used.
        ToolDefinitionError: two tools share a name.
    """
    keep_memory_private()
    facilities = facilities or Facilities()
    functions: list[FunctionTool[..., Any]] = []
    executors: list[Executor] = []
    folders: list[str] = []
    origins: dict[int, str] = {}
    for item in tools:
        if isinstance(item, FunctionTool):
            functions.append(item)
        elif isinstance(item, str | Path):
            folder = Path(item).absolute()
            if str(folder) not in folders:
                folders.append(str(folder))
                made = manifests(folder, storage, config, servers, facilities.host)
                origins.update(dict.fromkeys(map(id, made), str(folder)))
                executors += made
        else:
            executors.append(item)
    if functions:
        executors.append(FunctionExecutor(functions))
    executors += _facilities(facilities, storage, config)
    if KINDS[kind].makes_artifacts:
        executors.append(ArtifactExecutor(storage.blobs, catalog.REPORT_TOOLS))
    found = [_from(tool, origins.get(id(e))) for e in executors for tool in e.tools]
    # In an order that no server and no folder changes: providers keep what requests begin with.
    definitions = toolset(tuple(sorted(found, key=lambda tool: tool.name)))
    by_name = {tool.name: executor for executor in executors for tool in executor.tools}
    return ToolBox(definitions, by_name, tuple(folders))


def _from(tool: ToolDefinition, folder: str | None) -> ToolDefinition:
    """The tool with its origin, for policy to see; that of a server's tool is the server."""
    origin = tool.origin or (f"{tool.backend}:{folder}" if folder else tool.backend)
    return tool.model_copy(update={"origin": origin})


def located(facilities: Facilities) -> Facilities:
    """The same, with a folder that is found from everywhere."""
    host = facilities.host
    if host is None:
        return facilities
    folder = str(Path(host.folder).expanduser().absolute())
    return facilities.model_copy(update={"host": host.model_copy(update={"folder": folder})})


def _facilities(facilities: Facilities, storage: Storage, config: Config) -> Iterable[Executor]:
    """The executors of what a run is given beside manifests and functions."""
    if facilities.host is not None:
        from artificer.backends.host.executor import HostExecutor

        yield HostExecutor(facilities.host, blobs=storage.blobs, evidence=storage.evidence)
    if facilities.introspect:
        yield _introspection(storage, config)
    if facilities.workspaces:
        from artificer.backends.workspace.executor import WorkspaceExecutor

        yield WorkspaceExecutor(build_workspaces(storage), facilities.workspaces)


def _introspection(storage: Storage, config: Config) -> Executor:
    from artificer.backends.introspect.executor import IntrospectExecutor
    from artificer.backends.introspect.module import Module
    from artificer.runtime.view import JournalReader

    return IntrospectExecutor(
        JournalReader(storage.journal, storage.blobs),
        Module(config.digest),
        Redactor(_secrets(config)),
    )


def build_workspaces(storage: Storage) -> Workspaces:
    """The workspaces of a world."""
    from artificer.backends.workspace.service import Workspaces

    return Workspaces(storage.blobs, storage.versions, SystemClock().now)
