"""Reading a manifest's keys: parsed TOML in, typed keys out, with a fault for all that is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from artificer.contracts.arguments.check import Fault
from artificer.manifests import compat as lenience
from artificer.manifests.custom_types import CustomType, with_custom_type
from artificer.manifests.faults import fault_of
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.registry import Sections
from artificer.manifests.toml_lines import Path


@dataclass(frozen=True)
class FileKeys:
    """All keys of a file: the shared ones, and those of each backend's section by its name."""

    shared: ManifestKeys
    sections: Mapping[str, BaseModel] = field(default_factory=dict)


def read_keys(
    data: dict[str, Any],
    sections: Sections,
    types: Mapping[str, CustomType],
    faults: list[Fault],
    *,
    compat: bool,
    stem: str,
) -> FileKeys | None:
    """Read the keys of a file; None, with faults, when that cannot be done.

    ``sections`` are those of backends that it has, ``types`` the folder's own argument types, and
    ``stem`` is the file's name without its ending.
    """
    faults += _prepare_arguments(data, sections, types)
    if compat:
        faults += lenience.fill_in(data, sections, stem)
    for _ in range(lenience.ROUNDS):
        keys, errors = _validated(data, sections)
        if keys is not None:
            return keys
        found = [
            lenience.forgivable(error, fault_of(error, sections, types), sections)
            for error in errors
        ]
        faults += found
        if not compat or not all(fault.lenient for fault in found):
            return None
        if not all(lenience.take_out(data, path) for path in set(map(lenience.key_path, errors))):
            faults += [fault._replace(lenient=False) for fault in found]
            return None
    return None


def _validated(data: dict[str, Any], sections: Sections) -> tuple[FileKeys | None, list[Any]]:
    """The keys, or the errors of pydantic: those of the whole file together."""
    shared, own = None, {}
    errors: list[Any] = []
    try:
        # By way of JSON: there, and not in Python, a strict tuple may be given as a list.
        rest = {name: table for name, table in data.items() if name not in sections}
        shared = ManifestKeys.model_validate_json(_json(rest))
    except ValidationError as error:
        errors += error.errors()
    for name, section in sections.items():
        try:
            own[name] = section.keys.model_validate_json(_json(data[name]))
        except ValidationError as error:
            errors += [{**detail, "loc": (name, *detail["loc"])} for detail in error.errors()]
    return (None if shared is None or errors else FileKeys(shared, own)), errors


def _json(data: Any) -> bytes:
    try:
        return orjson.dumps(data, default=str)
    except orjson.JSONEncodeError:  # an integer of more than 64 bits: pydantic says where
        return json.dumps(data, default=str).encode()


def _prepare_arguments(
    data: dict[str, Any], sections: Sections, types: Mapping[str, CustomType]
) -> list[Fault]:
    """Give each argument its name, and its custom type's base and limits."""
    faults = []
    for path, arguments in _argument_tables(data, sections):
        for name, table in arguments.items():
            if not isinstance(table, dict):
                continue
            if "name" in table:
                faults.append(Fault((*path, name, "name"), "is not a known key"))
            if table.get("pattern") == "":  # as the reference: no pattern
                del table["pattern"]
            arguments[name] = with_custom_type(table, types) if types else table
            arguments[name]["name"] = name
    return faults


def _argument_tables(
    data: dict[str, Any], sections: Sections
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """``[args]``, and the tables of arguments within the sections of backends."""
    if isinstance(data.get("args"), dict):
        yield ("args",), data["args"]
    for name, section in sections.items():
        if isinstance(data[name], dict):
            for path, arguments in section.argument_tables(data[name]):
                yield (name, *path), arguments
