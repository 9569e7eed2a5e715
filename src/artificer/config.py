"""Configuration: ``artificer.toml`` in the working directory, and a few environment variables.

Flags override the environment, and the environment overrides the file. The file is checked
strictly: an unknown key is an error that names it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from artificer import prices
from artificer.backends.browser.settings import BrowserConfig
from artificer.backends.mcp.settings import McpConfig
from artificer.backends.sandbox.settings import SandboxConfig
from artificer.contracts.capabilities import Capabilities, Grant, Host
from artificer.contracts.model_settings import ModelKeys
from artificer.core.policy import Policy
from artificer.core.price import Price
from artificer.errors import ConfigError
from artificer.money import BudgetConfig, LimitsConfig, PriceConfig
from artificer.policies.load import PolicyKeys, to_policy
from artificer.ports import LEASE_SECONDS, Durability
from artificer.providers.registry import FOR_PROGRAMS, PROTOCOLS, PROVIDERS
from artificer.system.home import expanded, working_directory
from artificer.system.regular_file import read_regular
from artificer.values.arguments import path as named
from artificer.values.arguments import refuse_server
from artificer.values.base import CheckedValue, JsonValue, Meta, field
from artificer.values.canon import MAX_SAFE_INTEGER, canonical, digest_of
from artificer.values.parameters import refuse_unknown
from artificer.values.settings import checked

FILE_NAME = "artificer.toml"


class ProviderConfig(CheckedValue):
    """Your own provider: ``[providers.NAME]``. ``api_key_env`` names a variable.

    ``protocol`` is the registered provider that talks to it: ``anthropic``, ``openai``,
    ``openai-chat``, or one of an installed package, which reads ``options`` by itself.
    ``returns_reasoning`` hands a server of ``openai-chat`` the reasoning back that it sent, which
    DeepSeek demands; turn it off for one that refuses it.
    """

    protocol: str = "openai-chat"
    base_url: str | None = None
    api_key_env: str | None = None
    returns_reasoning: bool = True
    options: Mapping[str, JsonValue] = field(default_factory=dict)

    def check(self) -> None:
        """Reject an unknown protocol, and settings that it does not support."""
        if self.protocol in ("local", *FOR_PROGRAMS) or self.protocol not in PROVIDERS:
            known = ", ".join(PROTOCOLS.values())
            raise self.invalid("/protocol", f"no provider speaks it; built in are {known}")
        if self.protocol in PROTOCOLS.values() and self.base_url is None:
            raise self.invalid("", "needs a 'base_url'")
        if self.protocol in PROTOCOLS.values() and (fault := refuse_server(self.base_url or "")):
            raise self.invalid("/base_url", fault)
        if self.protocol in PROTOCOLS.values() and self.options:
            raise self.invalid("", f"{self.protocol!r} takes no 'options'")


class TelemetryConfig(CheckedValue):
    """``[telemetry]``: spans and metrics for OpenTelemetry.

    ``enabled`` is None for: where the program has set up OpenTelemetry already. ``content`` is
    None for what ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` says, else no.
    """

    enabled: bool | None = None
    content: bool | None = None


HostName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.\-\[\]:]{1,255}\Z")]

HeaderName = Annotated[str, Meta(pattern=r"^([A-Za-z][A-Za-z0-9-]{0,63})?\Z")]

_OTHERWISE_USED = frozenset({"authorization", "cookie", "host", "origin", "x-form-key"})


AgentPlace = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*\Z", max_length=300)
]

StudioRight = Literal["read", "act", "approve", "admin"]


class StudioConfig(CheckedValue):
    """``[studio]``: how people and programs other than this machine's user reach the studio.

    ``hosts`` are names under which it may be reached. ``identity_header`` holds the name of the
    person whom a reverse proxy has let in; it is believed from the ``proxies`` alone, which are
    addresses or networks. ``identity_rights`` are the rights of such people.
    ``agents`` are those that people may choose, each as ``module:name``.
    """

    hosts: tuple[HostName, ...] = ()
    identity_header: HeaderName = ""
    proxies: tuple[str, ...] = ()
    agents: tuple[AgentPlace, ...] = ()
    identity_rights: tuple[StudioRight, ...] = ("read", "act", "approve")
    requests_per_minute: Annotated[int, Meta(ge=1, le=1_000_000)] = 600

    def check(self) -> None:
        """Reject a proxy without a header or the reverse, and invalid addresses."""
        if bool(self.identity_header) != bool(self.proxies):
            raise self.invalid("", "needs 'identity_header' and 'proxies', or neither")
        if self.identity_header.lower() in _OTHERWISE_USED:
            raise self.invalid("/identity_header", "has another meaning in every request")
        for number, proxy in enumerate(self.proxies):
            from ipaddress import ip_network  # most projects have no proxy

            try:
                ip_network(proxy)
            except ValueError as error:
                raise self.invalid(f"/proxies/{number}", f"is not an address: {error}") from error


class SharedLimits(CheckedValue):
    """Limits that all processes of a world share: ``[requests."provider/model"]``."""

    at_once: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    per_minute: Annotated[int, Meta(ge=1, le=10_000)] | None = None

    def check(self) -> None:
        """Reject a limit without a value."""
        if self.at_once is None and self.per_minute is None:
            raise self.invalid("", "needs 'at_once' or 'per_minute'")


LaneName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,64}\Z")]


class WorkerConfig(CheckedValue):
    """``[worker]``: how workers execute submitted runs.

    ``dispatcher`` is ``local``, or a URL whose scheme is the kind of another one. ``slots`` is how
    many runs a worker executes at once, ``grace_seconds`` how long they may continue when it is
    stopped. ``agents`` are those whose runs it executes, each as ``module:name``, besides those of
    the studio. ``lanes`` limit the runs of a lane that all workers of a world execute: how many at
    once, or a `SharedLimits`.
    """

    dispatcher: str = "local"
    slots: Annotated[int, Meta(ge=1, le=1_000)] = 8
    grace_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 25.0
    agents: tuple[AgentPlace, ...] = ()
    lanes: Mapping[LaneName, Annotated[int, Meta(ge=1, le=1_000)] | SharedLimits] = field(
        default_factory=dict
    )


RequestsName = Annotated[str, Meta(pattern=r"^[^\s/]{1,100}(/\S{1,200})?\Z")]


SourceSetting = Annotated[str, Meta(min_length=1, max_length=2_000)]


class _Policies(CheckedValue):
    policy: PolicyKeys = PolicyKeys()


_MAX_BYTES = 1024 * 1024
"""The size of the largest ``artificer.toml`` that is read."""

_PROJECT = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Config(CheckedValue):
    """All settings. Paths are absolute or relative to the working directory.

    ``model`` is a ``provider/model``, or a list of them: the first one, then its fallbacks.
    ``storage`` is a kind of storage, or a URL whose scheme is one. ``lease_seconds`` is how long
    a process that executes runs of a shared one counts as alive without renewing its lease.
    ``secrets`` are the places in which the values of references are looked for, in this order.
    ``models`` are the settings of the requests to a ``provider/model``.
    ``requests`` limit the requests to a provider, or to a ``provider/model``, of all processes.
    ``context_tokens`` says how many tokens a ``provider/model`` reads and writes at once.
    ``backends`` are the settings of backends that installed packages add, by their names.
    """

    home: Path = Path("~/.artificer")
    project: str | None = None
    model: str | Annotated[tuple[str, ...], Meta(min_length=1)] | None = None
    tools: tuple[Path, ...] = ()
    tools_compat: bool = False
    tools_keys: tuple[Path, ...] = ()
    durability: Durability = "power"
    storage: str = "sqlite"
    lease_seconds: Annotated[float, Meta(ge=1, le=3600)] = LEASE_SECONDS
    secrets: tuple[SourceSetting, ...] = ("env",)
    local_model: Path | None = None
    policy: Policy = Policy()
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    prices: Mapping[str, PriceConfig] = field(default_factory=dict)
    prompt_caching: bool = True
    models: Mapping[str, ModelKeys] = field(default_factory=dict)
    requests: Mapping[RequestsName, SharedLimits] = field(default_factory=dict)
    context_tokens: Mapping[str, Annotated[int, Meta(ge=1_000)]] = field(default_factory=dict)
    budget: BudgetConfig = BudgetConfig()
    limits: LimitsConfig = LimitsConfig()
    mcp: McpConfig = McpConfig()
    browser: BrowserConfig = BrowserConfig()
    telemetry: TelemetryConfig = TelemetryConfig()
    sandbox: SandboxConfig = SandboxConfig()
    studio: StudioConfig = StudioConfig()
    worker: WorkerConfig = WorkerConfig()
    backends: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    host: Host | None = None
    workspaces: tuple[Grant, ...] = ()
    introspect: bool = False

    def check(self) -> None:
        """Reject a project that is not a folder in the home."""
        if self.project in (".", ".."):
            reason = "must be the name of a folder in the home, not a way out of it"
            raise self.invalid("/project", reason)
        if self.project is not None and not _PROJECT.fullmatch(self.project):
            raise self.invalid("/project", "must be 1 to 64 letters, digits, '.', '_' or '-'")

    @property
    def default_models(self) -> tuple[str, ...]:
        """The models of runs that do not name one: the first, then its fallbacks."""
        if self.model is None or isinstance(self.model, tuple):
            return self.model or ()
        return (self.model,)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of every run whose agent does not set any."""
        return Capabilities(host=self.host, workspaces=self.workspaces, introspect=self.introspect)

    @property
    def digest(self) -> str:
        """Digest of the settings, without parts of servers that may contain secrets.

        It does not depend on where a project is. A folder or file counts by its contents, which
        have digests of their own, and in the origin of a rule by its name.
        """
        body = self.to_json()
        body["home"] = body["project"] = body["local_model"] = None
        body["tools"] = body["tools_keys"] = None
        if self.host is not None:
            body["host"]["folder"] = None
        for rule in body["policy"]["rules"]:
            rule["origin"] = _without_folder(rule["origin"])
        body["sandbox"]["mode"] = self.sandbox.mode or "off"
        for server in body["mcp"]["servers"].values():
            server["env"] = server["headers"] = server["oauth"] = None
        return digest_of(canonical(body))

    @property
    def project_folder(self) -> Path:
        """This project's folder: ``$ARTIFICER_HOME/<project>``."""
        return self.home / (self.project or default_project(working_directory()))

    def placed(self, *, in_memory: bool = False) -> Self:
        """Return these settings with absolute paths and a named project.

        They name the same folders wherever the process goes later. Raises ConfigError for a
        relative path where the working directory is gone. Unless the world is ``in_memory``,
        which keeps nothing there, the project needs that directory too, and the home a user whom
        this machine knows.
        """
        host = self.host
        return self.replace(
            home=_absolute(expanded(self.home)) if in_memory else _placed(self.home),
            project=self.project or _project_here(in_memory=in_memory),
            tools=tuple(map(_placed, self.tools)),
            tools_keys=tuple(map(_placed, self.tools_keys)),
            local_model=None if self.local_model is None else _placed(self.local_model),
            host=host and host.replace(folder=str(_placed(Path(host.folder)))),
        )

    def price_of(self, model: str) -> Price | None:
        """The price of a ``provider/model``: the configured one, or the one in the table.

        None means that it is unknown, which is not zero.
        """
        price = self.prices.get(model)
        return prices.price_of(model) if price is None else price.value


def _without_folder(origin: str) -> str:
    """Return a rule's origin, such as ``command:/home/me/tools``, with the name of its folder."""
    backend, colon, place = origin.partition(":/")
    return f"{backend}:{Path(place).name}" if colon else origin


def _project_here(*, in_memory: bool) -> str:
    """The project of the working directory. Raises ConfigError where that is gone."""
    try:
        return default_project(working_directory())
    except ConfigError:
        if in_memory:
            return "memory"
        raise


def _placed(path: Path) -> Path:
    """Return the absolute path of a setting. Raises ConfigError."""
    try:
        path = path.expanduser()
    except RuntimeError as error:
        raise ConfigError(
            f"{path} cannot be found: {str(error).rstrip('.')}.",
            hint="Name an absolute path, as with $ARTIFICER_HOME for the home, or set $HOME.",
        ) from error
    return _absolute(path)


def _absolute(path: Path) -> Path:
    return path if path.is_absolute() else working_directory() / path


def default_project(folder: Path) -> str:
    """The folder's name and eight digits of its path: stable, and unlike other folders' names."""
    path = folder.resolve()
    name = "".join(c if (c.isalnum() and c.isascii()) or c in "._-" else "-" for c in path.name)
    return f"{name[:40] or 'root'}-{hashlib.sha256(bytes(path)).hexdigest()[:8]}"


def load_config(folder: str | Path | None = None, **flags: object) -> Config:
    """Read ``artificer.toml`` of a folder, then the environment, then flags that are not None.

    An empty environment variable counts as not set.

    Raises:
        ConfigError: the file is not TOML, or a setting is unknown or has a wrong value.
        AuthorError: a flag is not a setting.
    """
    refuse_unknown("load_config", flags, ("folder", *Config.field_names()))
    path = (working_directory() if folder is None else Path(named("folder", folder))) / FILE_NAME
    settings = _read(path)
    if _holds_nul(settings):
        raise ConfigError(
            f"{path} contains a NUL character, which no setting may.",
            hint="Remove it: it is \\u0000 in the file.",
        )
    if key := _too_large(settings):
        raise ConfigError(
            f"{path}: {key}: a number must be between -(2**53 - 1) and 2**53 - 1.",
            hint="Write a smaller number.",
        )
    for name in ("home", "model", "project", "storage"):
        variable = f"ARTIFICER_{name.upper()}"
        text = os.environ.get(variable) or None
        models = text.split(",") if name == "model" and text else ()
        several = [model.strip() for model in models] if len(models) > 1 else None
        _override(settings, name, several or text, f"${variable}")
    for name, value in flags.items():
        _override(settings, name, value, "The options")
    rules = checked(_Policies, {"policy": settings.pop("policy", {})}, str(path))
    config = checked(Config, settings, str(path))
    if settings.get("home") == "":
        raise ConfigError(
            "The home has an empty name.",
            hint="Name a folder, or leave the setting out: the default is ~/.artificer.",
        )
    return config.replace(policy=to_policy(rules.policy, path)).placed()


def _override(settings: dict[str, object], name: str, value: object, source: str) -> None:
    """Replace a setting. Raises ConfigError, which names the source and not the file."""
    if value is not None:
        if any("\ud800" <= character <= "\udfff" for character in str(value)):
            raise ConfigError(
                f"{source}: {name} is not UTF-8.",
                hint="Use a name in UTF-8: settings are recorded with every run.",
            )
        checked(Config, {name: value}, source)
        settings[name] = value


def _read(path: Path) -> dict[str, object]:
    try:
        data = read_regular(path, _MAX_BYTES)
        if data is None:
            raise OSError(errno.EFBIG, f"has more than {_MAX_BYTES} bytes")
        import tomllib  # many projects have no such file

        return tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"))
    except FileNotFoundError:
        return {}
    except RecursionError as error:
        raise ConfigError(
            f"{path} cannot be read: its values are nested too deeply.",
            hint="No setting needs that: docs/reference/settings.md lists them.",
        ) from error
    except (ValueError, OSError) as error:  # UnicodeDecodeError and TOMLDecodeError are the former
        raise ConfigError(
            f"{path} cannot be read: {error}.",
            hint="Check its permissions, and that it is UTF-8 and valid TOML.",
        ) from error


def _too_large(value: object) -> str:
    """Return the key of an integer too large for exact JSON, or an empty text if there is none."""
    if isinstance(value, dict):
        parts = [(str(key), part) for key, part in value.items()]
    elif isinstance(value, list):
        parts = [(f"#{number}", part) for number, part in enumerate(value, 1)]
    else:
        return ""
    for key, part in parts:
        if isinstance(part, int) and abs(part) > MAX_SAFE_INTEGER:
            return key
        if below := _too_large(part):
            return f"{key}.{below}"
    return ""


def _holds_nul(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return isinstance(value, str) and "\0" in value
