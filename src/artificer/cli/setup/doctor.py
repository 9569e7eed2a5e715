"""``artificer doctor``: check what is installed and configured."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path

from artificer.backends.sandbox.sandbox import choose, findings
from artificer.cli.commands.setup import DoctorOptions
from artificer.cli.configuration import configuration
from artificer.cli.interruptible import interruptible
from artificer.cli.settings import Settings
from artificer.cli.setup.probe import ask_model, journal_finding
from artificer.cli.terminal.console import one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.config import FILE_NAME, Config
from artificer.providers.local_fetch import model_path
from artificer.values.release import RELEASE
from artificer.wiring.sandbox import grants_of
from artificer.wiring.secrets import VENDOR_KEYS

EXTRAS = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("openai", "openai"),
    "local": ("xllamacpp", "xllamacpp"),
    "charts": ("vl-convert-python", "vl_convert"),
    "http": ("httpcore2", "httpcore2"),
    "mcp": ("mcp", "mcp"),
    "sandbox": ("landlockpy", "landlockpy"),
    "cedar": ("cedarpy", "cedarpy"),
    "otel": ("opentelemetry-api", "opentelemetry"),
}
"""Each extra: its distribution and the module that is imported."""


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was checked. ``ok`` is None if it is absent, which is not wrong."""

    what: str
    ok: bool | None
    detail: str
    hint: str = ""


@interruptible
async def doctor(settings: Settings, options: DoctorOptions) -> Exit:
    """Print what was found; return 1 if something is wrong."""
    config = configuration(settings)
    ok, detail = await journal_finding(config)
    diagnoses = [*_program(), *_places(config), Diagnosis("journal", ok, detail)]
    diagnoses += [*_sandboxes(config), *_providers(config)]
    diagnoses += await _ask(config, _candidates(config, options))
    if options.as_json:
        out_json([asdict(diagnosis) for diagnosis in diagnoses])
    else:
        _print(diagnoses)
    return Exit.WRONG if any(diagnosis.ok is False for diagnosis in diagnoses) else Exit.OK


def _print(diagnoses: list[Diagnosis]) -> None:
    marks = {True: ("ok", "good"), None: ("-", "dim"), False: ("no", "bad")}
    width = max(len(diagnosis.what) for diagnosis in diagnoses)
    for diagnosis in diagnoses:
        mark, style = marks[diagnosis.ok]
        hint = f"  ({diagnosis.hint})" if diagnosis.hint else ""
        detail = one_line(diagnosis.detail, 300)
        out(f"{mark:<3} {diagnosis.what:<{width}}  {detail}{hint}".rstrip(), style)


def _program() -> list[Diagnosis]:
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    found = [Diagnosis("artificer", True, RELEASE), Diagnosis("python", True, python)]
    for extra, (distribution, _) in EXTRAS.items():
        here = _installed(extra)
        detail = f"{distribution} {metadata.version(distribution)}" if here else "not installed"
        hint = "" if here else _install(extra)
        found.append(Diagnosis(f"extra {extra}", here or None, detail, hint))
    return found


def _installed(extra: str) -> bool:
    return util.find_spec(EXTRAS[extra][1]) is not None


def _install(extra: str) -> str:
    return f"pip install 'artificer[{extra}]'"


def _places(config: Config) -> list[Diagnosis]:
    settings = FILE_NAME if Path(FILE_NAME).exists() else f"no {FILE_NAME} here"
    return [
        Diagnosis("settings", True, settings),
        Diagnosis("home", True, str(config.home)),
        Diagnosis("project", True, str(config.project_folder)),
    ]


def _sandboxes(config: Config) -> list[Diagnosis]:
    """Each sandbox, and the one that the programs of manifests would run in."""
    wanted = grants_of(config)
    found = [Diagnosis(f"sandbox {f.name}", f.works or None, f.detail, f.hint) for f in findings()]
    choice = choose(wanted.mode, wanted.network, findings())
    used = choice.name if choice else "none"
    ok = (choice is not None or None) if wanted.mode != "required" else choice is not None
    hint = "[sandbox] mode in artificer.toml" if wanted.mode == "off" else ""
    return [*found, Diagnosis("sandbox", ok, f"mode {wanted.mode}: {used}", hint)]


def _providers(config: Config) -> list[Diagnosis]:
    found = [_built_in(name) for name in VENDOR_KEYS if name not in config.providers]
    found.append(_embedded(config))
    for name, own in config.providers.items():
        key = own.api_key_env
        if key and not os.environ.get(key):
            found.append(Diagnosis(f"provider {name}", False, own.base_url or "", f"set {key}"))
        else:
            found.append(Diagnosis(f"provider {name}", True, own.base_url or ""))
    model = config.model or "none"
    hint = "" if config.model else "--model, $ARTIFICER_MODEL, or model = in artificer.toml"
    found.append(Diagnosis("default model", bool(config.model) or None, model, hint))
    return found


def _built_in(name: str) -> Diagnosis:
    variable = VENDOR_KEYS[name]
    if not os.environ.get(variable):
        return Diagnosis(f"provider {name}", None, f"{variable} is not set")
    if not _installed(name):
        detail = f"{variable} is set, but the extra is missing"
        return Diagnosis(f"provider {name}", None, detail, _install(name))
    return Diagnosis(f"provider {name}", True, f"{variable} is set")


def _embedded(config: Config) -> Diagnosis:
    path = config.local_model or model_path(config.home)
    try:
        exists = path.exists()
    except PermissionError:
        return Diagnosis("provider local", None, f"{path} cannot be read by this user")
    if exists and not _installed("local"):
        return Diagnosis(
            "provider local", None, f"{path}, but the extra is missing", _install("local")
        )
    if exists:
        return Diagnosis("provider local", True, str(path))
    if config.local_model:
        return Diagnosis("provider local", False, f"{path} does not exist", "see local_model")
    return Diagnosis("provider local", None, "no model downloaded", "artificer local fetch")


def _candidates(config: Config, options: DoctorOptions) -> list[str]:
    """The models to ask, each once."""
    models = list(options.model)
    if options.ask:
        models += [config.model] if config.model else []
        models += ["local/smollm2"] if _embedded(config).ok else []
    return list(dict.fromkeys(models))


async def _ask(config: Config, models: list[str]) -> list[Diagnosis]:
    found = []
    for model in models:
        ok, detail = await ask_model(config, model)
        found.append(Diagnosis(f"model {model}", ok, detail))
    return found
