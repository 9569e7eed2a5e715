"""Parsing a manifest: text in, a typed and checked Manifest out, or all that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from artificer.contracts.arguments.check import Fault, argument_faults
from artificer.contracts.schema import compile_schema
from artificer.errors import AuthorError, ManifestError
from artificer.manifests.custom_types import FolderKeys
from artificer.manifests.keys import ManifestKeys, OutputKeys
from artificer.manifests.model import SUFFIX, Manifest, ManifestSection
from artificer.manifests.probe import read_probe
from artificer.manifests.read import FileKeys, read_keys
from artificer.manifests.registry import Sections, section_of, sections_in
from artificer.manifests.section_reads import read_section
from artificer.manifests.toml_lines import key_lines, line_of
from artificer.manifests.toml_text import read_toml

_MODES = ("session", "browser")
"""Values of ``tool.mode`` that name a section, which must then be there."""


def parse_manifest(
    text: str,
    file: str,
    *,
    folder: FolderKeys | None = None,
    compat: bool = False,
    sections: Sequence[ManifestSection[Any, Any]] = (),
) -> Manifest[Any]:
    """Read one ``*.clad.toml`` file; ``file`` is its name, for messages.

    ``folder`` is what its ``toolclad.toml`` says. With ``compat``, what the reference lets pass
    and is safe to let pass is a warning. ``sections`` are read in place of the registered ones.

    Raises:
        ManifestError: with one line, ``file:line: key: what is wrong``, for each fault.
        ConfigError: the plug-in that a section needs cannot be used.
    """
    try:
        data = read_toml(text)
    except ValueError as error:
        raise ManifestError(f"{file}: not valid TOML: {error}") from error
    folder = folder or FolderKeys()
    faults: list[Fault] = []
    known = {section.name: section for section in sections if section.name in data}
    own = known or sections_in(data)
    stem = file.rpartition("/")[2].removesuffix(SUFFIX)
    keys = read_keys(data, own, folder.types, faults, compat=compat, stem=stem)
    manifest = _assembled(keys, own, folder, faults, compat=compat) if keys else None
    fatal = [fault for fault in faults if not (compat and fault.lenient)]
    if manifest is None or fatal:
        raise ManifestError("\n".join(_lines(text, file, fatal or faults)))
    if not faults:
        return manifest
    return replace(manifest, warnings=tuple(_lines(text, file, faults)))


def _lines(text: str, file: str, faults: list[Fault]) -> list[str]:
    lines = key_lines(text)
    found = sorted({(line_of(lines, f.path), ".".join(f.path), f.message) for f in faults})
    return [f"{file}:{n}: {key}: {message}" for n, key, message in found]


def _assembled(
    found: FileKeys,
    sections: Sections,
    folder: FolderKeys,
    faults: list[Fault],
    *,
    compat: bool,
) -> Manifest[Any] | None:
    keys = _checked_arguments(found.shared, faults, compat=compat)
    faults += [*_backend_faults(keys, sections), *_resource_faults(keys)]
    parts = {
        name: read_section(section, keys, found.sections[name], faults, compat=compat)
        for name, section in sections.items()
    }
    faults += _output_faults(keys.output)
    probe = read_probe(keys, found.sections, sections, faults)
    if any(not (compat and fault.lenient) for fault in faults):
        return None
    section = next(iter(sections.values()), None)
    if section is None:
        section = section_of("command")
        assert section is not None
    return Manifest(
        section=section,
        part=parts[section.name] if parts else section.declared(),
        tool=keys.tool,
        arguments=tuple(sorted(keys.args.values(), key=lambda argument: argument.position)),
        output=keys.output,
        scope=folder.scope,
        probe=probe,
        examples=keys.examples,
    )


def _checked_arguments(keys: ManifestKeys, faults: list[Fault], *, compat: bool) -> ManifestKeys:
    """Add the faults of arguments; with ``compat``, take out defaults that are of no use."""
    kept = {}
    for name, argument in keys.args.items():
        found = argument_faults(argument)
        faults += found
        if compat:
            update: dict[str, object] = {"sanitize": ("injection",)}
            if any(fault.path[2:] == ("default",) for fault in found):
                update["default"] = None
            argument = argument.replace(**update)
        kept[name] = argument
    return keys.replace(args=kept) if compat else keys


def _backend_faults(keys: ManifestKeys, sections: Sections) -> Iterator[Fault]:
    there = [*sections]
    if not there and keys.tool.dispatch != "callback":
        yield Fault(("command",), "is missing: it names the backend that executes the tool")
    for name in there[1:]:
        yield Fault((name,), f"is a second backend; the first is [{there[0]}]")
    mode = keys.tool.mode
    if mode in _MODES and mode not in sections:
        yield Fault(("tool", "mode"), f"is {mode!r}, but there is no [{mode}]")


def _resource_faults(keys: ManifestKeys) -> Iterator[Fault]:
    """Resources whose places no argument fills."""
    for resource in keys.tool.resources:
        for name in re.findall(r"\{([^{}]*)\}", resource):
            if name not in keys.args:
                yield Fault(("tool", "resources"), f"{{{name}}} is not an argument")


def _output_faults(output: OutputKeys) -> list[Fault]:
    faults = []
    if output.parser and ":" in output.parser:
        kind, _, name = output.parser.partition(":")
        if kind != "builtin" or name not in ("text", "json", "jsonl", "csv", "xml"):
            faults.append(Fault(("output", "parser"), f"{output.parser!r} is not a parser"))
    if output.result is not None:
        try:
            compile_schema(output.result)
        except AuthorError as error:
            faults.append(Fault(("output", "schema"), str(error).splitlines()[0]))
    return faults
