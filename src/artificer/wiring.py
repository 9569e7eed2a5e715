"""The only file that knows every adapter: from configuration to a runtime that works."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artificer.config import FILE_NAME, Config, McpServerConfig, ProviderConfig
from artificer.contracts.definition import ToolDefinition, Toolset, toolset
from artificer.contracts.facilities import Facilities, Host
from artificer.core.policy import Policy
from artificer.errors import ConfigError, NotFoundError
from artificer.journal.memory import MemoryJournal
from artificer.journal.purse import MemoryPurse
from artificer.journal.sqlite import SqliteJournal
from artificer.loops.kinds import KINDS, RunKind
from artificer.policies.engine import consult_here
from artificer.ports import (
    Approver,
    BlobStore,
    Executor,
    Journal,
    Provider,
    Purse,
    Requiring,
    Snapshots,
    Versions,
)
from artificer.runtime.allowance import Allowance
from artificer.runtime.engine import Engine
from artificer.runtime.observe import Observer
from artificer.runtime.perform import Performer
from artificer.runtime.post import Post
from artificer.store.disk import DiskStore
from artificer.store.joined import JoinedStore
from artificer.store.memory import MemoryStore
from artificer.store.snapshots import MemorySnapshots, SqliteSnapshots
from artificer.store.versions import MemoryVersions, SqliteVersions
from artificer.system import SystemClock
from artificer.telemetry.wanted import telling
from artificer.tools.artifact import ArtifactExecutor
from artificer.tools.function import FunctionExecutor, FunctionTool
from artificer.tools.secrets import MIN_ENCODED, CleanBlobs, Redactor, all_secrets
from artificer.values.model import ToolChoice

if TYPE_CHECKING:
    from artificer.tools.command import CommandTool
    from artificer.tools.mcp_servers import McpServers, Offer
    from artificer.tools.sandbox.sandbox import Grants
    from artificer.tools.workspace.service import Workspaces

PROVIDER_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
"""Where the SDKs look for their keys."""

BUILT_IN = ("anthropic", "openai", "openai-chat", "local", "scripted")
"""Providers that need no ``[providers.NAME]`` section."""

Tool = FunctionTool[..., Any] | Executor | str | Path
"""A decorated function, an executor of your own, or a folder of manifests."""


@dataclass
class Storage:
    """The stores of a world, and the post to its runs."""

    journal: Journal
    blobs: BlobStore
    post: Post
    close: Callable[[], Any] | None = None
    evidence: Path | None = None
    """Where the calls of tools that need a folder get it; None for a temporary one."""
    versions: Versions = field(default_factory=MemoryVersions)
    files: DiskStore | None = None
    """The store of blobs that are files."""
    snapshots: Snapshots = field(default_factory=MemorySnapshots)
    purse: Purse = field(default_factory=MemoryPurse)


async def open_storage(config: Config) -> Storage:
    """Open the project's journal and blobs on disk, making them when they are not there."""
    folder = config.project_folder
    folder.mkdir(parents=True, exist_ok=True)
    journal = SqliteJournal(folder / "journal.db", config.durability)
    await journal.open()
    files = DiskStore(folder / "blobs", config.durability)
    blobs = JoinedStore(journal.small, files)
    versions = SqliteVersions(folder / "workspaces.db", config.durability)

    snapshots = SqliteSnapshots(folder / "snapshots.db")

    async def close() -> None:
        versions.close()
        snapshots.close()
        await journal.aclose()

    return Storage(
        journal,
        blobs,
        Post(journal.mailbox),
        close,
        folder / "evidence",
        versions,
        files,
        snapshots,
        journal.purse,
    )


def memory_storage() -> Storage:
    """A world that lives as long as the process."""
    journal = MemoryJournal()
    blobs = JoinedStore(journal.small, MemoryStore())
    return Storage(journal, blobs, Post(journal.mailbox), purse=journal.purse)


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

    Raises:
        ManifestError: a manifest of a folder cannot be used.
        ToolDefinitionError: two tools share a name.
    """
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
                made = _manifests(folder, storage, config, servers, facilities.host)
                origins.update(dict.fromkeys(map(id, made), str(folder)))
                executors += made
        else:
            executors.append(item)
    if functions:
        executors.append(FunctionExecutor(functions))
    executors += _facilities(facilities, storage, config)
    if KINDS[kind].makes_artifacts:
        executors.append(ArtifactExecutor(storage.blobs))
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
        from artificer.tools.host.executor import HostExecutor

        yield HostExecutor(facilities.host, blobs=storage.blobs, evidence=storage.evidence)
    if facilities.introspect:
        yield _introspection(storage, config)
    if facilities.workspaces:
        from artificer.tools.workspace.executor import WorkspaceExecutor

        yield WorkspaceExecutor(build_workspaces(storage), facilities.workspaces)


def _introspection(storage: Storage, config: Config) -> Executor:
    from artificer.runtime.view import JournalReader
    from artificer.tools.introspect.executor import IntrospectExecutor
    from artificer.tools.introspect.module import Module

    return IntrospectExecutor(
        JournalReader(storage.journal, storage.blobs),
        Module(config.digest),
        Redactor(_secrets(config)),
    )


def clean_blobs(storage: Storage, config: Config) -> BlobStore:
    """The store for what tools bring: without the secrets of our environment."""
    return CleanBlobs(storage.blobs, redactor_of(config))


def redactor_of(config: Config) -> Redactor:
    """What takes the secrets of our environment out of what tools bring.

    That is the model's to work with: a short one would be found where it is no secret, and so would
    the name with which a browser logs in, for pages greet with it.
    """
    hidden = {
        name: value
        for name, value in _secrets(config).items()
        if len(value) >= MIN_ENCODED and not name.endswith("_USERNAME")
    }
    return Redactor(hidden)


def _secrets(config: Config) -> dict[str, str]:
    keys = [name for own in config.providers.values() if (name := own.api_key_env)]
    return all_secrets(os.environ, [*PROVIDER_KEYS, *keys])


def build_workspaces(storage: Storage) -> Workspaces:
    """The workspaces of a world."""
    from artificer.tools.workspace.service import Workspaces

    return Workspaces(storage.blobs, storage.versions, SystemClock().now)


def build_servers(config: Config, storage: Storage) -> McpServers:
    """The MCP servers that are configured. None is started, or connected to, before it is used."""
    from artificer.tools.mcp_servers import McpServers

    return McpServers(
        (_offer(name, server) for name, server in config.mcp.servers.items()),
        clean_blobs(storage, config),
    )


def _offer(name: str, server: McpServerConfig) -> Offer:
    from artificer.contracts.mcp.tools import Contract
    from artificer.tools.mcp_link import McpServer
    from artificer.tools.mcp_oauth import OAuthClient
    from artificer.tools.mcp_servers import Offer

    return Offer(
        McpServer(
            name=name,
            command=server.command,
            url=server.url,
            env=server.env,
            headers=server.headers,
            oauth=None if server.oauth is None else OAuthClient(**dict(server.oauth)),
            start_seconds=server.start_seconds,
        ),
        Contract(
            effect=server.effect,
            risk=server.risk,
            human_approval=server.human_approval,
            trust=server.trust,
            sensitive=server.sensitive,
            timeout_ms=server.timeout_seconds * 1000,
        ),
        server.allow,
    )


def _manifests(
    folder: Path,
    storage: Storage,
    config: Config,
    servers: McpServers | None,
    host: Host | None,
) -> list[Executor]:
    """The executors of a folder: one for its commands, one for its requests, one a server.

    Programs run in the folder that the run is given, if it is given one.
    """
    from artificer.tools.command import CommandExecutor
    from artificer.tools.loader import load_folder

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
        from artificer.tools.http import HttpExecutor

        requests = [tool.manifest for tool in by_backend["http"]]
        executors.append(HttpExecutor(requests, blobs=blobs))
    if by_backend["session"]:
        from artificer.tools.session import SessionExecutor

        sessions = [tool.manifest for tool in by_backend["session"]]
        executors.append(SessionExecutor(sessions, cwd=cwd, blobs=blobs, grants=grants))
    if by_backend["browser"]:
        from artificer.tools.browser import BrowserExecutor

        browsers = [tool.manifest for tool in by_backend["browser"]]
        executors.append(BrowserExecutor(browsers, blobs=blobs, live=config.browser.live))
    if by_backend["mcp"]:
        servers = servers or build_servers(config, storage)
        executors += servers.wanted([tool.manifest for tool in by_backend["mcp"]])
    return executors


def grants_of(config: Config) -> Grants:
    """What a sandbox lets programs do; the configuration itself is never theirs to write."""
    from artificer.tools.sandbox.sandbox import Grants

    wanted = config.sandbox
    return Grants(
        mode=wanted.mode,
        writable=wanted.writable,
        readable=wanted.readable,
        network=wanted.network,
        kept=(Path(FILE_NAME).absolute(),),
    )


def split_model(model: str) -> tuple[str, str]:
    """Split ``provider/model``; the model's own name may hold slashes. Raises ConfigError."""
    provider, slash, name = model.partition("/")
    if not slash or not name:
        raise ConfigError(
            f"{model!r} does not name a provider and a model.",
            hint="Write it as provider/model, for example local/smollm2.",
        )
    return provider, name


def build_provider(name: str, config: Config) -> Provider:
    """Make the provider of that name. Its SDK is imported when it is first asked something.

    Raises:
        ConfigError: no provider has that name.
    """
    own = config.providers.get(name)
    if own is not None:
        return _configured(name, own)
    match name:
        case "anthropic":
            from artificer.providers.anthropic import Anthropic

            return Anthropic()
        case "openai":
            from artificer.providers.openai_responses import OpenAIResponses

            return OpenAIResponses()
        case "openai-chat":
            from artificer.providers.openai_chat import OpenAIChat

            return OpenAIChat(base_url=os.environ.get("OPENAI_BASE_URL"))
        case "local":
            from artificer.providers.local import Local
            from artificer.providers.local_fetch import model_path

            return Local(config.local_model or model_path(config.home))
        case "scripted":
            from artificer.providers.scripted import ScriptedProvider

            return ScriptedProvider([])
    known = ", ".join([*BUILT_IN, *config.providers])
    raise ConfigError(
        f"No provider is called {name!r}.",
        hint=f"Known: {known}. Others go into [providers.{name}] of artificer.toml.",
    )


def wire_of(provider: Provider) -> str:
    """How a provider maps requests, where that depends on the environment; else nothing."""
    from artificer.providers.sdk import SdkProvider

    return provider.wire if isinstance(provider, SdkProvider) else ""


def build_mapper(name: str, wire: str, config: Config) -> Provider:
    """Make a provider that maps requests as a recorded one did, wherever that one was.

    Raises:
        ConfigError: no provider has that name.
    """
    protocol, _, server = wire.partition("/")
    base_url = None if server == "vendor" else "http://recorded.invalid"
    match protocol:
        case "messages":
            from artificer.providers.anthropic import Anthropic

            return Anthropic(name, base_url=base_url)
        case "responses":
            from artificer.providers.openai_responses import OpenAIResponses

            return OpenAIResponses(name, base_url=base_url)
        case "chat":
            from artificer.providers.openai_chat import OpenAIChat

            return OpenAIChat(name, base_url=base_url)
    return build_provider(name, config)


def _configured(name: str, own: ProviderConfig) -> Provider:
    key = own.api_key_env
    match own.protocol:
        case "anthropic":
            from artificer.providers.anthropic import Anthropic

            return Anthropic(name, base_url=own.base_url, key_variable=key)
        case "openai":
            from artificer.providers.openai_responses import OpenAIResponses

            return OpenAIResponses(name, base_url=own.base_url, key_variable=key)
        case "openai-chat":
            from artificer.providers.openai_chat import OpenAIChat

            return OpenAIChat(name, base_url=own.base_url, key_variable=key)


def build_allowance(storage: Storage, config: Config) -> Allowance:
    """What the world may spend."""
    return Allowance(storage.purse, config.budget.day, config.price_of)


def build_engine(
    storage: Storage,
    provider: Provider,
    tools: ToolBox,
    config: Config,
    *,
    approver: Approver | None = None,
    observer: Observer | None = None,
    policy: Policy | None = None,
) -> Engine:
    """Put a runtime together. ``policy`` is that of the run to be driven.

    Raises:
        MissingExtraError: it has Cedar policies and there is no engine for them, telemetry is
            wanted and there is none, or the provider's SDK is not installed.
        NotFoundError: the provider's model is not here.
    """
    if isinstance(provider, Requiring):  # an open run that cannot go on would be left otherwise
        provider.require()
    performer = Performer(
        provider=provider,
        executors=tools.executors,
        approver=approver,
        blobs=storage.blobs,
        clock=SystemClock(),
        allowances=(build_allowance(storage, config),),
        clean=redactor_of(config).clean,
    )
    watching = telling(
        observer or Observer(), enabled=config.telemetry.enabled, content=config.telemetry.content
    )
    consult = consult_here(policy)
    return Engine(storage.journal, performer, storage.post, watching, consult, storage.snapshots)


def system_prompt(kind: RunKind) -> str:
    """The system prompt of a kind of run."""
    return _prompt(KINDS[kind].prompt)


def compaction_prompt() -> str:
    """The system prompt of a request for a summary."""
    return _prompt("compact.md")


@lru_cache
def _prompt(name: str) -> str:
    prompts = resources.files("artificer.loops") / "prompts"
    return (prompts / name).read_text(encoding="utf-8").strip()
