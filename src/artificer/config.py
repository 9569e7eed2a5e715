"""Configuration: ``artificer.toml`` in the working directory, and a few environment variables.

Flags beat the environment, the environment beats the file. The file is checked strictly: an
unknown key is an error that names it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, Field, JsonValue, ValidationError, model_validator

from artificer.backends.browser.settings import BrowserConfig
from artificer.backends.mcp.settings import McpConfig
from artificer.backends.sandbox.settings import SandboxConfig
from artificer.contracts.capabilities import Capabilities, Grant, Host
from artificer.core.policy import Policy
from artificer.core.price import Price
from artificer.errors import ConfigError
from artificer.money import BudgetConfig, LimitsConfig, PriceConfig, SettingsSection
from artificer.policies.load import PolicyKeys, to_policy
from artificer.ports import Durability
from artificer.providers.registry import PROTOCOLS, PROVIDERS
from artificer.values.base import CheckedValue
from artificer.values.canon import canonical, digest_of
from artificer.values.settings import model_of

FILE_NAME = "artificer.toml"


def _known_protocol(name: str) -> str:
    if name in ("local", "scripted") or PROVIDERS.get(name) is None:
        known = ", ".join(PROTOCOLS.values())
        raise ValueError(f"no provider speaks it; built in are {known}")
    return name


class ProviderConfig(SettingsSection):
    """A provider of your own: ``[providers.NAME]``. ``api_key_env`` names a variable.

    ``protocol`` is the registered provider that talks to it: ``anthropic``, ``openai``,
    ``openai-chat``, or one of an installed package, which reads ``options`` by itself.
    ``returns_reasoning`` hands a server of ``openai-chat`` the reasoning back that it sent, which
    DeepSeek demands; turn it off for one that refuses it.
    """

    protocol: Annotated[str, AfterValidator(_known_protocol)] = "openai-chat"
    base_url: str | None = None
    api_key_env: str | None = None
    returns_reasoning: bool = True
    options: Mapping[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.protocol in PROTOCOLS.values() and self.base_url is None:
            raise ValueError("needs a 'base_url'")
        if self.protocol in PROTOCOLS.values() and self.options:
            raise ValueError(f"{self.protocol!r} takes no 'options'")
        return self


class TelemetryConfig(SettingsSection):
    """``[telemetry]``: spans and metrics for OpenTelemetry.

    ``enabled`` is None for: where the program has loaded OpenTelemetry already. ``content`` is
    None for what ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` says, else no.
    """

    enabled: bool | None = None
    content: bool | None = None


class _Policies(SettingsSection):
    policy: PolicyKeys = PolicyKeys()


def _one_folder(name: str) -> str:
    if name in (".", ".."):
        raise ValueError("must be the name of a folder in the home, not a way out of it")
    return name


ProjectName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$"), AfterValidator(_one_folder)]


class Config(SettingsSection):
    """All settings. Paths are absolute or relative to the working directory.

    ``storage`` is a kind of storage, or a URL whose scheme is one.
    ``context_tokens`` says how many tokens a ``provider/model`` reads and writes at once.
    ``backends`` are the settings of backends that installed packages add, by their names.
    """

    home: Path = Path("~/.artificer")
    project: ProjectName | None = None
    model: str | None = None
    tools: tuple[Path, ...] = ()
    tools_compat: bool = False
    tools_keys: tuple[Path, ...] = ()
    durability: Durability = "power"
    storage: str = "sqlite"
    local_model: Path | None = None
    policy: Policy = Policy()
    providers: Mapping[str, ProviderConfig] = Field(default_factory=dict)
    prices: Mapping[str, PriceConfig] = Field(default_factory=dict)
    prompt_caching: bool = True
    context_tokens: Mapping[str, Annotated[int, Field(ge=1_000)]] = Field(default_factory=dict)
    budget: BudgetConfig = BudgetConfig()
    limits: LimitsConfig = LimitsConfig()
    mcp: McpConfig = McpConfig()
    browser: BrowserConfig = BrowserConfig()
    telemetry: TelemetryConfig = TelemetryConfig()
    sandbox: SandboxConfig = SandboxConfig()
    backends: Mapping[str, Mapping[str, JsonValue]] = Field(default_factory=dict)
    host: Host | None = None
    workspaces: tuple[Grant, ...] = ()
    introspect: bool = False

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of every run of the project whose agent names none."""
        return Capabilities(host=self.host, workspaces=self.workspaces, introspect=self.introspect)

    @property
    def digest(self) -> str:
        """Digest of the settings, without what servers are told: secrets may stand there."""
        body = self.model_dump(mode="json")
        for server in body["mcp"]["servers"].values():
            server["env"] = server["headers"] = server["oauth"] = None
        return digest_of(canonical(body))

    @property
    def project_folder(self) -> Path:
        """Where this project's world lives: ``$ARTIFICER_HOME/<project>``."""
        return self.home / (self.project or default_project(Path.cwd()))

    def price_of(self, model: str) -> Price | None:
        """The price of a ``provider/model``, or None where none is known, which is not zero."""
        price = self.prices.get(model)
        return None if price is None else price.value


def default_project(folder: Path) -> str:
    """The folder's name and eight digits of its path: the same every time, unlike its namesake."""
    path = folder.resolve()
    name = "".join(c if (c.isalnum() and c.isascii()) or c in "._-" else "-" for c in path.name)
    return f"{name[:40] or 'root'}-{hashlib.sha256(bytes(path)).hexdigest()[:8]}"


def load_config(folder: Path | None = None, **flags: object) -> Config:
    """Read ``artificer.toml`` of a folder, then the environment, then flags that are not None.

    An empty variable of the environment counts as one that is not set.

    Raises:
        ConfigError: the file is not TOML, or a setting is unknown or has a wrong value.
    """
    path = (folder or Path.cwd()) / FILE_NAME
    settings = _read(path)
    if _holds_nul(settings):
        raise ConfigError(f"{path} holds a NUL character, which no setting can.")
    environment = {
        "home": os.environ.get("ARTIFICER_HOME") or None,
        "model": os.environ.get("ARTIFICER_MODEL") or None,
        "project": os.environ.get("ARTIFICER_PROJECT") or None,
    }
    for layer in (environment, flags):
        settings.update({name: value for name, value in layer.items() if value is not None})
    rules = _validated(_Policies, {"policy": settings.pop("policy", {})}, path)
    config = _validated(Config, settings, path)
    if settings.get("home") == "":
        raise ConfigError(
            "The home has an empty name.",
            hint="Name a folder, or leave the setting out: the default is ~/.artificer.",
        )
    try:
        home = config.home.expanduser().absolute()
    except RuntimeError as error:  # ~somebody, whom this machine does not know
        raise ConfigError(f"The home {config.home} cannot be found: {error}.") from error
    return config.replace(home=home, policy=to_policy(rules.policy, path))


M = TypeVar("M", bound=BaseModel)


def _validated(model: type[M], settings: dict[str, object], path: Path) -> M:
    try:
        # As JSON, because a strict value takes an array for a tuple from nowhere else.
        return model.model_validate_json(json.dumps(settings, default=str))
    except ValidationError as error:
        raise ConfigError(_explain(error, path), hint=_suggest(error, model)) from error


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error


def _holds_nul(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return isinstance(value, str) and "\0" in value


def _explain(error: ValidationError, path: Path) -> str:
    faults = [f"{_where(e['loc'])}: {e['msg']}" for e in error.errors()]
    return f"{path}: " + "; ".join(faults) + "."


def _where(loc: tuple[str | int, ...]) -> str:
    """A place in the file; the entries of a list are counted from 1, as verdicts count rules."""
    steps = (f" #{step + 1}" if isinstance(step, int) else f".{step}" for step in loc)
    return "".join(steps).lstrip(".")


def _suggest(error: ValidationError, model: type[BaseModel]) -> str | None:
    for fault in error.errors():
        if fault["type"] == "extra_forbidden":
            known = _known(model, fault["loc"][:-1])
            close = difflib.get_close_matches(str(fault["loc"][-1]), known, n=1)
            return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."
    return None


def _known(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[str]:
    """The keys of the section that a place is in."""
    for step in loc:
        field = model.model_fields.get(str(step))
        if field is not None:  # else an entry of a list, or a name that the user made up
            model = next(_models(field.annotation), model)
    return list(model.model_fields)


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif isinstance(annotation, type) and issubclass(annotation, CheckedValue):
        yield model_of(annotation)
    for part in get_args(annotation):
        yield from _models(part)
