"""Reading the section of a backend, which may be third-party code, and checking its protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel

from artificer.contracts.arguments.check import Fault
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.schema import compile_schema
from artificer.errors import CanonicalError, InvalidValueError, ToolDefinitionError
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.model import ManifestFile, ManifestSection
from artificer.manifests.registry import BACKENDS
from artificer.values.canon import canonical


def read_section(
    section: ManifestSection[Any, Any],
    manifest: ManifestKeys,
    keys: BaseModel,
    faults: list[Fault],
    *,
    compat: bool,
) -> Any:
    """Return a section's part of a manifest; add its faults.

    Raises:
        ConfigError: it returned nothing and no reason for that, or a fault that is none.
    """
    found: list[Fault] = []
    part = section.read(manifest, keys, found, compat=compat)
    faults += checked_faults(section.name, found)
    if part is None and all(compat and fault.lenient for fault in found):
        raise BACKENDS.fault_of(
            section.name, f"read [{section.name}] as None, and added no fault that says why."
        )
    return part


def checked_faults(section: str, found: object) -> list[Fault]:
    """Return what a section has added to the faults of a manifest. Raises ConfigError."""
    faults: list[Fault] = []
    if not isinstance(found, Iterable):
        what = f"returned an object of type {type(found).__name__}, not an iterable of faults."
        raise BACKENDS.fault_of(section, what)
    for fault in found:
        if not isinstance(fault, Fault):
            what = f"added an object of type {type(fault).__name__} to the faults, not a Fault."
            raise BACKENDS.fault_of(section, what)
        path, message = _members(fault)
        if not (isinstance(path, tuple) and all(isinstance(step, str) for step in path)):
            what = f"added a fault whose path is no tuple of texts: {path!r:.80}."
            raise BACKENDS.fault_of(section, what)
        if not isinstance(message, str):
            what = f"added a fault whose message is of type {type(message).__name__}."
            raise BACKENDS.fault_of(section, what)
        faults.append(fault)
    return faults


def linked_files(
    section: ManifestSection[Any, Any], files: Sequence[ManifestFile[Any]]
) -> tuple[list[ManifestFile[Any]], list[str]]:
    """Return a folder's files with those of a section joined, and its faults, a line each.

    Raises:
        ConfigError: it returned something else, or changed the files of another section.
    """
    returned: object = section.link(files)
    match returned:
        case [Sequence() as linked, Sequence() as faults] if not isinstance(faults, str):
            pass
        case _:
            what = f"linked the files of a folder to {returned!r:.80}, not to files and faults."
            raise BACKENDS.fault_of(section.name, what)
    for kind, items in ((ManifestFile, linked), (str, faults)):
        for item in items:
            if not isinstance(item, kind):
                what = f"linked an object of type {type(item).__name__}, not a {kind.__name__}."
                raise BACKENDS.fault_of(section.name, what)
    if _of_others(section, linked) != _of_others(section, files):
        what = "changed, moved or left out the files of another section when it linked its own."
        raise BACKENDS.fault_of(section.name, what)
    return list(linked), list(faults)


def _of_others(section: ManifestSection[Any, Any], files: Sequence[ManifestFile[Any]]) -> list[int]:
    return [id(file) for file in files if file.manifest.section is not section]


def checked_tools(file: ManifestFile[Any]) -> tuple[ToolDefinition, ...]:
    """Return the tools that a manifest offers, labelled as those of its section.

    Policies go by these labels, and the calls of some origins start other runs.

    Raises:
        ConfigError: the section offers something else, or a tool as that of another backend; or,
            of an installed package, none, two of a name, or one that no run could use.
    """
    name = file.manifest.backend
    try:
        tools: object = file.manifest.definitions
    except InvalidValueError as error:
        what = f"offers a tool that cannot be: {error.message}"
        raise BACKENDS.fault_of(name, what) from error
    if not isinstance(tools, tuple) or not all(isinstance(t, ToolDefinition) for t in tools):
        raise BACKENDS.fault_of(name, f"offers {tools!r:.80}, not a tuple of tools.")
    for tool in tools:
        if tool.backend != name or tool.origin.partition(":")[0] not in ("", name):
            what = f"offers the tool {tool.name} with the backend {tool.backend!r} and the origin "
            what += f'{tool.origin!r:.80}: it has to be {name!r}, or to begin with "{name}:".'
            raise BACKENDS.fault_of(name, what)
    if BACKENDS.is_plug_in(name):
        _check_usable(name, file.file, tools)
    return tools


def _check_usable(section: str, file: str, tools: Sequence[ToolDefinition]) -> None:
    """Check that a file has tools, which can be recorded and compiled. Raises ConfigError."""
    names = [tool.name for tool in tools]
    twice = [name for name in names if names.count(name) > 1]
    if twice or not names:
        what = f"offers two tools called {twice[0]}" if twice else "offers no tool"
        raise BACKENDS.fault_of(section, f"{what} for {file}.")
    for tool in tools:
        try:
            canonical(tool.to_json())
            compile_schema(tool.input_schema)
        except (CanonicalError, ToolDefinitionError) as error:
            what = f"offers the tool {tool.name}, which cannot be: {error.message}"
            raise BACKENDS.fault_of(section, what) from error


def named_programs(section: ManifestSection[Any, Any], part: Any) -> list[tuple[str, str]]:
    """Return the programs that a part names, each with its key. Raises ConfigError."""
    returned: object = section.programs(part)
    found: list[tuple[str, str]] = []
    for each in returned if isinstance(returned, Iterable) else [returned]:
        match each:
            case (str() as key, str() as program):
                found.append((key, program))
            case _:
                what = f"named {each!r:.80} as a program, not a key and a program."
                raise BACKENDS.fault_of(section.name, what)
    return found


def _members(fault: Fault) -> tuple[object, object]:
    return fault.path, fault.message
