"""The tools of a run with the executors that perform their calls, from every source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from artificer.agent_definition import ExecutedTool
from artificer.backends.artifact import offered
from artificer.backends.context import ExecutorContext, ToolServers
from artificer.backends.function.decorator import FunctionTool
from artificer.backends.function.inline import inlined
from artificer.contracts.capabilities import Capabilities
from artificer.contracts.definition import ToolDefinition, Toolset, toolset
from artificer.core.kinds import KINDS, RunKind
from artificer.errors import ConfigError
from artificer.plugins import load, on_call
from artificer.ports import Executor
from artificer.runtime.watching.view import JournalReader
from artificer.system.home import expanded
from artificer.system.private_memory import keep_memory_private
from artificer.values.by_identity import ByIdentity
from artificer.values.model import ToolChoice
from artificer.wiring.resources import WorldResources
from artificer.wiring.sandbox import grants_of
from artificer.wiring.servers import build_servers

_CAPABILITIES = {
    name: f"artificer.backends.{name}.backend:CAPABILITY"
    for name in ("function", "host", "introspect", "workspace", "artifact")
}
"""The backends that no manifest declares, each with what makes its executors."""

_manifests = on_call("artificer.wiring.folders:manifests")


class ToolBox(Struct, frozen=True):
    """Tools with the executors that perform them."""

    toolset: Toolset
    executors: Mapping[str, Executor]
    folders: tuple[str, ...]

    @classmethod
    def empty(cls) -> ToolBox:
        """No tools."""
        return cls(Toolset(), {}, ())

    @property
    def text(self) -> str:
        """The toolset as a run records it."""
        return _text(*self.toolset.tools)

    def narrowed(self, names: Iterable[str] | None) -> ToolBox:
        """Only the tools of these names, or all for None. Raises ConfigError for an unknown one."""
        if names is None:
            return self
        wanted = list(names)
        unknown = [name for name in wanted if self.toolset.get(name) is None]
        if unknown:
            known = ", ".join(self.toolset.names) or "none"
            raise ConfigError(f"Unknown tool: {unknown[0]!r}.", hint=f"Known: {known}.")
        kept = tuple(tool for tool in self.toolset.tools if tool.name in wanted)
        return replace(self, toolset=Toolset(tools=kept))

    def require_offered(self, choices: Iterable[ToolChoice]) -> None:
        """Raise ConfigError unless every tool that a choice demands is one of these."""
        self.narrowed([choice.name for choice in choices if choice.name is not None])

    def require_same(self, recorded: Toolset) -> None:
        """Raise ConfigError unless every tool of a recorded toolset is here, and still the same.

        A tool that makes artifacts takes what it took when the run began: the gate goes by the
        recorded schema, and all that follows from the call is made of what has passed it.
        """
        for tool in recorded.tools:
            here = self.toolset.get(tool.name)
            if here is None or not _is_same(here, tool):
                what = "is not here" if here is None else "has changed since the run began"
                raise ConfigError(
                    f"The tool {tool.name!r} {what}.",
                    hint="Give the run the same tools again: --tools FOLDER for manifests, "
                    "--agent MODULE:NAME or agent.resume(…) for functions.",
                )


def used(tools: Iterable[ExecutedTool], recorded: Toolset) -> list[ExecutedTool]:
    """Return those tools of a world that a recorded run has; it names their folders itself."""
    functions = [tool for tool in tools if isinstance(tool, FunctionTool)]
    executors = [tool for tool in tools if not isinstance(tool, (FunctionTool, str, Path))]
    return [
        *(tool for tool in functions if recorded.get(tool.definition.name)),
        *(item for item in executors if any(recorded.get(tool.name) for tool in item.tools)),
    ]


def _is_same(here: ToolDefinition, recorded: ToolDefinition) -> bool:
    """Return whether a run can continue with a tool.

    A tool that makes artifacts is part of this program: a later release takes more arguments, and
    all that an earlier one took. Calls are checked against the recorded schema either way.
    """
    if recorded.backend == here.backend == "artifact":
        return (here.effect, here.risk) == (recorded.effect, recorded.risk)
    if here.contract == recorded.contract:
        return True
    if here.origin != "function" or "$defs" in recorded.input_schema:
        return False
    closed = recorded.replace(input_schema=inlined(recorded.input_schema))
    return here.contract == closed.contract  # 0.1.0 left nested objects open


def build_tools(
    tools: Iterable[ExecutedTool],
    *,
    kind: RunKind,
    world: WorldResources,
    servers: ToolServers | None = None,
    capabilities: Capabilities | None = None,
    deps: Any = None,
) -> ToolBox:
    """Collect the tools of a run. ``servers`` are those whose tools manifests may name, and
    ``deps`` what the program passes to its functions.

    From here on programs may be started, so the memory of this process is closed to them.

    Raises:
        ManifestError: a manifest of a folder cannot be used.
        ToolDefinitionError: two tools share a name, or one needs ``deps`` and has none.
    """
    keep_memory_private()
    capabilities = capabilities or Capabilities()
    context = _context(world, servers or build_servers(world), capabilities, deps)
    functions: list[FunctionTool[..., Any]] = []
    executors: list[Executor] = []
    folders: list[str] = []
    origins: dict[int, str] = {}
    for item in tools:
        if isinstance(item, FunctionTool):
            functions.append(item)
        elif isinstance(item, (str, Path)):
            folder = Path(item).absolute()
            if str(folder) not in folders:
                folders.append(str(folder))
                made = _manifests(folder, world.config, context)
                origins.update(dict.fromkeys(map(id, made), str(folder)))
                executors += made
        else:
            executors.append(item)
    bindable = bool(executors or functions)  # what else a run may have returns no rows
    granted = {
        "function": functions,
        "host": capabilities.host,
        "introspect": capabilities.introspect,
        "workspace": capabilities.workspaces,
        "artifact": offered.report_tools(binding=bindable) if KINDS[kind].makes_artifacts else (),
    }
    for name, registered in _CAPABILITIES.items():
        if granted[name]:
            executors += load(registered).executors(granted[name], context)
    found = [_from(tool, origins.get(id(e))) for e in executors for tool in e.tools]
    # In an order that no server and no folder changes: providers keep what requests begin with.
    definitions = toolset(tuple(sorted(found, key=lambda tool: tool.name)))
    by_name = {tool.name: executor for executor in executors for tool in executor.tools}
    return ToolBox(definitions, by_name, tuple(folders))


def _context(
    world: WorldResources, servers: ToolServers, capabilities: Capabilities, deps: Any
) -> ExecutorContext:
    """The parts of the world that a run's executors are made with."""
    config, storage = world.config, world.storage
    return ExecutorContext(
        blobs=storage.blobs,
        clean_blobs=world.clean_blobs,
        redactor=world.full_redactor,
        secrets=world.secrets,
        versions=storage.versions,
        reader=JournalReader(storage.journal, storage.blobs),
        now=world.clock.now,
        servers=servers,
        config_digest=world.config_digest,
        evidence=storage.evidence,
        folder=Path(capabilities.host.folder) if capabilities.host else None,
        grants=grants_of(config),
        deps=deps,
    )


def _from(tool: ToolDefinition, folder: str | None) -> ToolDefinition:
    """The tool with its origin, for policy to see; that of a server's tool is the server."""
    if tool.origin or not folder:
        return _of_backend(tool)
    return tool.replace(origin=f"{tool.backend}:{folder}")


# Runs with the same tools share them, and their text: it may take 80 KB.
_of_backend: ByIdentity[ToolDefinition] = ByIdentity(
    lambda tool: tool.replace(origin=tool.origin or tool.backend)
)
_text: ByIdentity[str] = ByIdentity(lambda *tools: Toolset(tools=tools).to_text(), 64)


def located(capabilities: Capabilities) -> Capabilities:
    """Return capabilities whose folder is found from any working directory."""
    host = capabilities.host
    if host is None:
        return capabilities
    folder = str(expanded(host.folder).absolute())
    return capabilities.replace(host=host.replace(folder=folder))
