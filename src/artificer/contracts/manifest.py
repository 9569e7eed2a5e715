"""Reading a manifest: text in, a typed and checked Manifest out, or all that is wrong with it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any, NamedTuple

from pydantic import JsonValue, ValidationError

from artificer.contracts.arg_types import LATER_TYPES, Argument, schema_of
from artificer.contracts.argv import Built, Group, build_argv
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.manifest_check import Fault, argument_faults, command_faults, read_groups
from artificer.contracts.manifest_keys import LATER, ManifestKeys, OutputKeys, ToolKeys
from artificer.contracts.schema import compile_schema
from artificer.contracts.toml_lines import Path, key_lines, line_of
from artificer.errors import AuthorError, ManifestError
from artificer.values.base import JsonObject, Value


class Manifest(Value):
    """A command-line program as a tool. Arguments stand in the order of their positions."""

    tool: ToolKeys
    arguments: tuple[Argument, ...]
    groups: tuple[Group, ...]
    constants: dict[str, JsonValue]
    success_exit: tuple[int, ...]
    output: OutputKeys

    @property
    def input_schema(self) -> JsonObject:
        """What the gate holds a model to: every constraint, and no other members."""
        return {
            "type": "object",
            "properties": {a.name: schema_of(a) for a in self.arguments},
            "required": [a.name for a in self.arguments if a.required],
            "additionalProperties": False,
        }

    @property
    def definition(self) -> ToolDefinition:
        """The tool as a model and the gate see it."""
        return ToolDefinition(
            name=self.tool.name,
            description=self.tool.description,
            input_schema=self.input_schema,
            effect=self.tool.effect,
            risk=self.tool.risk_tier,
            human_approval=self.tool.human_approval,
            timeout_ms=self.tool.timeout_seconds * 1000,
            backend="command",
        )

    def argv(self, given: Mapping[str, JsonValue]) -> Built:
        """The command for arguments that have passed the input schema."""
        return build_argv(self.groups, self.arguments, self.constants, given)


def parse_manifest(text: str, file: str) -> Manifest:
    """Read one ``*.clad.toml`` file; ``file`` is its name, for messages.

    Raises:
        ManifestError: with one line, ``file:line: key: what is wrong``, for each fault.
    """
    try:
        data = tomllib.loads(text, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{file}: not valid TOML: {error}") from error
    faults = list(_take_out_later(data))
    keys = _read_keys(data, faults)
    manifest = _assemble(keys, faults) if keys else None
    if faults or manifest is None:
        lines = key_lines(text)
        told = sorted({(line_of(lines, f.path), ".".join(f.path), f.message) for f in faults})
        raise ManifestError("\n".join(f"{file}:{n}: {key}: {what}" for n, key, what in told))
    return manifest


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is no number that JSON has")
    return number


class _Section(NamedTuple):
    path: Path
    table: dict[str, Any]
    later: tuple[str, ...]


def _sections(data: dict[str, Any]) -> list[_Section]:
    tables = [((), data, ""), *(((name,), data.get(name), name) for name in LATER if name)]
    arguments = data.get("args")
    if isinstance(arguments, dict):
        tables += [(("args", name), table, "args.*") for name, table in arguments.items()]
    return [
        _Section(path, table, LATER.get(kind, ()))
        for path, table, kind in tables
        if isinstance(table, dict)
    ]


def _take_out_later(data: dict[str, Any]) -> list[Fault]:
    """Remove the keys of the format that this release does not read, with a fault for each."""
    faults = []
    for section in _sections(data):
        for key in section.later:
            if key in section.table:
                del section.table[key]
                message = "is part of the format, but not supported by this release yet"
                faults.append(Fault((*section.path, key), message))
    return faults


def _read_keys(data: dict[str, Any], faults: list[Fault]) -> ManifestKeys | None:
    arguments = data.get("args")
    if isinstance(arguments, dict):
        for name, table in arguments.items():
            if isinstance(table, dict):
                if "name" in table:
                    faults.append(Fault(("args", name, "name"), "is not a known key"))
                table["name"] = name
    try:
        # By way of JSON: there, and not in Python, a strict tuple may be given as a list.
        return ManifestKeys.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        faults += [_fault(detail, data) for detail in error.errors()]
        return None


def _fault(detail: Any, data: dict[str, Any]) -> Fault:
    path = tuple(str(step) for step in detail["loc"])
    kind, given = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        near = get_close_matches(path[-1], _known_keys(path), n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        return Fault(path, f"is not a known key{meant}")
    if kind == "missing":
        return Fault(path, "is missing")
    if kind == "literal_error" and path[-1] == "type" and given in LATER_TYPES:
        return Fault(path, f"the type {given!r} is not supported by this release yet")
    if kind == "literal_error" and isinstance(given, str):
        near = get_close_matches(given, detail["ctx"]["expected"].split("'"), n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        return Fault(path, f"{given!r} is not one of {detail['ctx']['expected']}{meant}")
    return Fault(path, detail["msg"])


def _known_keys(path: Path) -> list[str]:
    if path[0] == "args" and len(path) == 3:
        return sorted({*Argument.model_fields, "min_float", "max_float"} - {"name"})
    if len(path) == 2:
        section = ManifestKeys.model_fields[path[0]].annotation
        fields = getattr(section, "model_fields", {})
        return [field.alias or name for name, field in fields.items()]
    return list(ManifestKeys.model_fields)


def _assemble(keys: ManifestKeys, faults: list[Fault]) -> Manifest | None:
    faults += [f for argument in keys.args.values() for f in argument_faults(argument)]
    groups = read_groups(keys.command, faults)
    arguments = tuple(sorted(keys.args.values(), key=lambda argument: argument.position))
    faults += command_faults(keys, groups) if groups else []
    if keys.output.result is not None:
        try:
            compile_schema(keys.output.result)
        except AuthorError as error:
            faults.append(Fault(("output", "schema"), str(error).splitlines()[0]))
    if faults:
        return None
    return Manifest(
        tool=keys.tool,
        arguments=arguments,
        groups=groups,
        constants=dict(keys.command.defaults),
        success_exit=keys.command.success_exit,
        output=keys.output,
    )
