"""``artificer doctor``: check what is installed and configured."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from artificer.backends.backend import backend_of
from artificer.backends.sandbox.sandbox import choose, findings
from artificer.cli.commands.setup import DoctorOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.setup.databases import is_in_database, replication_of
from artificer.cli.setup.plugged_in import plug_ins
from artificer.cli.setup.probe import ask_model, journal_finding
from artificer.cli.setup.shown_url import shown_url
from artificer.cli.terminal.console import one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.config import FILE_NAME, Config
from artificer.errors import ConfigError, OperatorError
from artificer.manifests.registry import BACKENDS
from artificer.secrets.kinds import secrets_of
from artificer.values.nearest import nearest
from artificer.values.release import RELEASE
from artificer.wiring.extras import EXTRAS, how_to_install, version_of
from artificer.wiring.folders import settings_of
from artificer.wiring.local_servers import CheckedProvider, ask_local
from artificer.wiring.provider_findings import embedded_finding
from artificer.wiring.sandbox import grants_of


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was checked. ``ok`` is None if it is absent, which is not wrong."""

    what: str
    ok: bool | None
    detail: str
    hint: str = ""


async def doctor(settings: Settings, options: DoctorOptions) -> Exit:
    """Print what was found; return 1 if something is wrong."""
    config = configuration(settings)
    ok, detail = await journal_finding(config)
    diagnoses = [*_program(), *_plug_ins(), *_places(config), Diagnosis("journal", ok, detail)]
    diagnoses += await asyncio.to_thread(_database, config)
    diagnoses += [*_sandboxes(config)]
    usable, found = await asyncio.to_thread(_secrets, config)
    diagnoses += [*found, *(await _providers(usable))]
    diagnoses += await _ask(usable, _candidates(config, options))
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
        version = version_of(extra)
        detail = f"{distribution} {version}" if version else "not installed"
        hint = "" if version else how_to_install(extra)
        found.append(Diagnosis(f"extra {extra}", bool(version) or None, detail, hint))
    return found


def _plug_ins() -> list[Diagnosis]:
    """Each thing that an installed package adds, by its entry-point group and name."""
    return [
        Diagnosis(f"{found.group} {found.name}", not found.fault, found.fault or found.package)
        for found in plug_ins()
    ]


def _places(config: Config) -> list[Diagnosis]:
    settings = FILE_NAME if Path(FILE_NAME).exists() else f"no {FILE_NAME} here"
    return [
        Diagnosis("settings", True, settings),
        *_backend_settings(config),
        _home(config),
        Diagnosis("project", True, str(config.project_folder)),
        *_shared(config),
    ]


def _home(config: Config) -> Diagnosis:
    """The data directory. One that may only be read is as good, for commands that only read."""
    place = config.project_folder
    while not os.path.lexists(place):
        place = place.parent
    if place.is_dir():
        return Diagnosis("home", True, str(config.home))
    what = "is a link that leads nowhere" if place.is_symlink() else "is not a folder"
    hint = "remove it, or name another with --home or $ARTIFICER_HOME"
    return Diagnosis("home", False, f"{config.home}: {place} {what}", hint)


def _backend_settings(config: Config) -> Iterator[Diagnosis]:
    """Each table of ``[backends]`` that no package reads, or that its package refuses."""
    for name in config.backends:
        what = f"settings backends.{name}"
        try:
            backend = backend_of(name) if name in BACKENDS else None
            if backend is not None and backend.settings is not None:
                settings_of(name, backend, config)
                continue
        except ConfigError as error:
            yield Diagnosis(what, False, error.message, error.hint or "")
            continue
        hint = "" if name in BACKENDS else nearest(name, BACKENDS.names)
        yield Diagnosis(what, None, "no installed package reads this table", hint)


def _shared(config: Config) -> list[Diagnosis]:
    """The world and the dispatcher, where they are elsewhere. No line has a password."""
    found = []
    if "://" in config.storage:
        found.append(Diagnosis("world", True, shown_url(config.storage)))
    if config.worker.dispatcher != "local":
        dispatcher = shown_url(config.worker.dispatcher)
        found.append(Diagnosis("dispatcher", True, dispatcher))
    return found


def _database(config: Config) -> list[Diagnosis]:
    """Whether the world may be written where it is, and survives the loss of its server."""
    if not is_in_database(config.storage):
        return []
    try:
        found = replication_of(config)
    except OperatorError as error:
        return [Diagnosis("database", False, error.message, error.hint or "")]
    safe = None if found == "asynchronous" else True
    hint = "docs/guides/postgresql.md says what to set" if safe is None else ""
    return [Diagnosis("database", safe, _REPLICATION[found], hint)]


_REPLICATION = {
    "none": "no replica follows it",
    "synchronous": "commits wait for a replica",
    "asynchronous": "commits wait for no replica: after a fail-over the last ones may be missing",
}


def _sandboxes(config: Config) -> list[Diagnosis]:
    """Each sandbox, and the one that the programs of manifests would run in."""
    wanted = grants_of(config)
    found = [Diagnosis(f"sandbox {f.name}", f.works or None, f.detail, f.hint) for f in findings()]
    choice = choose(wanted.mode, wanted.network, findings())
    used = choice.name if choice else "none"
    ok = (choice is not None or None) if wanted.mode != "required" else choice is not None
    hint = "[sandbox] mode in artificer.toml" if wanted.mode == "off" else ""
    return [*found, Diagnosis("sandbox", ok, f"mode {wanted.mode}: {used}", hint)]


def _secrets(config: Config) -> tuple[Config, list[Diagnosis]]:
    """Each source of secrets, whether it can be asked, and the settings with those alone."""
    found, usable = [], []
    for setting in config.secrets:
        what = f"secrets {setting.partition(':')[0]}"
        try:
            secrets = secrets_of((setting,))
            fault, place = secrets.fault(), secrets.places("NAME")
        except ConfigError as error:
            found.append(Diagnosis(what, False, error.message, error.hint or ""))
        else:
            found.append(Diagnosis(what, not fault, fault or ", ".join(place)))
            usable.append(setting)
    return config.replace(secrets=tuple(usable)), found


async def _providers(config: Config) -> list[Diagnosis]:
    found = [
        Diagnosis(f"provider {p.finding.name}", p.finding.ok, _detail(p), p.finding.hint)
        for p in await ask_local(config)
    ]
    models = ", then ".join(config.default_models)
    hint = "" if models else "--model, $ARTIFICER_MODEL, or model = in artificer.toml"
    found.append(Diagnosis("default model", bool(models) or None, models or "none", hint))
    return found


def _detail(entry: CheckedProvider) -> str:
    """Return how a provider is reached, and the number of models of a server that answered."""
    answers = f" answers: {count(len(entry.models), 'model')}" if entry.answered else ""
    return entry.finding.detail + answers


def _candidates(config: Config, options: DoctorOptions) -> list[str]:
    """The models to ask, each once."""
    models = list(options.model)
    if options.ask:
        models += config.default_models
        models += ["local/smollm2"] if embedded_finding(config).ok else []
    return list(dict.fromkeys(models))


async def _ask(config: Config, models: list[str]) -> list[Diagnosis]:
    found = []
    for model in models:
        ok, detail = await ask_model(config, model)
        found.append(Diagnosis(f"model {model}", ok, detail))
    return found
