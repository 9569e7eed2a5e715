"""Folders of manifests, with the executors that perform their calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from pydantic import BaseModel, ValidationError

from artificer.backends.backend import Backend, backend_of
from artificer.backends.context import ExecutorContext
from artificer.backends.loader import load_folder
from artificer.config import Config
from artificer.errors import ConfigError, NotFoundError
from artificer.manifests.model import ManifestFile
from artificer.manifests.registry import BACKENDS
from artificer.plugins import lacking
from artificer.ports import Executor


def manifests(folder: Path, config: Config, context: ExecutorContext) -> list[Executor]:
    """Return the executors of a folder: those of each backend that its manifests name.

    Raises:
        NotFoundError: the folder does not exist.
        ManifestError: a manifest cannot be used.
        ConfigError: the settings of a backend cannot be used, or what it needs is not here.
    """
    if not folder.is_dir():
        raise NotFoundError(
            f"The tools folder {str(folder)!r} "
            f"{'is a file.' if folder.is_file() else 'does not exist.'}",
            hint="Name a folder that holds *.clad.toml files.",
        )
    files = load_folder(folder, compat=config.tools_compat, trusted_keys=config.tools_keys)
    by_backend: defaultdict[str, list[ManifestFile[Any]]] = defaultdict(list)
    for file in files:
        by_backend[file.manifest.backend].append(file)
    executors: list[Executor] = []
    for name, declared in by_backend.items():
        backend = backend_of(name)
        own = replace(context, settings=settings_of(name, backend, config))
        found = checked_executors(name, backend.executors(declared, own))
        if BACKENDS.is_plug_in(name):
            _check_tools(name, found, declared)
        executors += found
    return executors


def _check_tools(
    backend: str, executors: Iterable[Executor], files: Iterable[ManifestFile[Any]]
) -> None:
    """Check that executors perform the tools of their manifests. Raises ConfigError.

    What people have read, and policies go by, is in the manifests.
    """
    declared = {tool.name: tool for file in files for tool in file.manifest.definitions}
    offered: set[str] = set()
    for each in executors:
        tools: object = each.tools
        if not isinstance(tools, Sequence) or isinstance(tools, str):
            what = f"made an executor whose tools are {tools!r:.80}, not a tuple."
            raise BACKENDS.fault_of(backend, what)
        for tool in tools:
            name = str(getattr(tool, "name", tool))
            if declared.get(name) != tool:
                what = f"made an executor that offers {name:.80} otherwise than its manifests do"
                raise BACKENDS.fault_of(backend, f"{what}: it has to offer their definitions.")
            offered.add(name)
    for name in sorted(declared.keys() - offered):
        raise BACKENDS.fault_of(backend, f"made no executor that offers {name}.")


def checked_executors(backend: str, made: object) -> list[Executor]:
    """Return the executors that a backend has made. Raises ConfigError for anything else."""
    found: list[Any] = list(made) if isinstance(made, Iterable) else [made]
    for each in found:
        if lacking(each, ("tools", "execute")):
            raise ConfigError(
                f"The backend [{backend}] made a {type(each).__name__} where an executor belongs.",
                hint="Its package should return objects with `tools` and `execute`: update it.",
            )
    return found


def settings_of(name: str, backend: Backend, config: Config) -> BaseModel | None:
    """Return a backend's settings: those of ``[backends.NAME]``, or of a table of its own.

    Raises ConfigError.
    """
    if backend.settings is None:
        return getattr(config, name, None)
    with BACKENDS.errors_of(name, "it read its settings"):
        try:
            return backend.settings.model_validate(config.backends.get(name, {}))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, ("backends", name, *first["loc"])))
            raise ConfigError(
                f"artificer.toml: {where}: {first['msg']}.",
                hint=f"Correct [backends.{name}]; its package documents its settings.",
            ) from error
