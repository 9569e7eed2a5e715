"""Reading a manifest's keys: parsed TOML in, typed keys out, with a fault for all that is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import takewhile
from typing import Any

import orjson
from pydantic import ValidationError

from artificer.contracts.arguments.check import Fault
from artificer.contracts.arguments.types import ARGUMENT_TYPES, Argument
from artificer.contracts.keys.manifest import ManifestKeys
from artificer.contracts.manifest.custom_types import CustomType, with_custom_type
from artificer.contracts.manifest.toml_lines import Path

FORGIVEN_ROUNDS = 8
"""How often ``compat`` takes out what cannot be read, before it gives up."""

_IGNORABLE = (
    *(("tool", key) for key in ("version", "description", "binary", "mode", "evidence")),
    *(("args", "*", key) for key in ("description", "position", "sanitize", "default")),
    *(("output",), ("examples",), ("session", "events")),
    *(("browser", key) for key in ("engine", "headless", "extract_mode", "defaults", "state")),
    *((section, "commands", "*", "description") for section in ("session", "browser")),
)
"""Keys that hold nothing back: ``compat`` may go on without a value of theirs that cannot be read.

Without any other, a call could do more than its author meant. ``sanitize`` is one of these, because
``compat`` refuses what it would in every argument.
"""

_SAFETY_TABLES = (("tool", "sandbox"), ("tool", "limits"), ("tool", "probe"), ("browser", "scope"))
"""Tables of what a call is held to, like ``[args.NAME]``: an unknown key there may hold it, too."""

_SAFETY_NAMES = (
    *("allowed", "pattern", "required", "schemes", "scope", "scope_check", "limits", "sandbox"),
    *("human_approval", "risk_tier", "sensitive", "trust", "effect", "dispatch"),
    *("timeout", "timeout_seconds"),
)
"""Names that mean something to an author even where the format does not know them."""


def read_keys(
    data: dict[str, Any],
    types: Mapping[str, CustomType],
    faults: list[Fault],
    *,
    compat: bool,
    stem: str,
) -> ManifestKeys | None:
    """Read the sections of a file; None, with faults, when that cannot be done.

    ``types`` are the folder's own argument types, ``stem`` is the file's name without its ending.
    """
    faults += _prepare_arguments(data, types)
    if compat:
        faults += _fill_in(data, stem)
    for _ in range(FORGIVEN_ROUNDS):
        try:
            # By way of JSON: there, and not in Python, a strict tuple may be given as a list.
            return ManifestKeys.model_validate_json(_json(data))
        except ValidationError as error:
            found = [_forgivable(d, _fault(d, types)) for d in error.errors()]
            unread = {_key_path(detail) for detail in error.errors()}
        faults += found
        if not compat or not all(fault.lenient for fault in found):
            return None
        if not all(_take_out(data, path) for path in unread):
            faults += [fault._replace(lenient=False) for fault in found]
            return None
    return None


def _json(data: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(data, default=str)
    except orjson.JSONEncodeError:  # an integer of more than 64 bits: pydantic says where
        return json.dumps(data, default=str).encode()


def _prepare_arguments(data: dict[str, Any], types: Mapping[str, CustomType]) -> list[Fault]:
    """Give each argument its name, and its custom type's base and limits."""
    faults = []
    for path, arguments in _argument_tables(data):
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


def _argument_tables(data: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """``[args]``, and the args of each command of a session or a browser."""
    if isinstance(data.get("args"), dict):
        yield ("args",), data["args"]
    for section in ("session", "browser"):
        table = data.get(section)
        commands = table.get("commands") if isinstance(table, dict) else None
        for name, command in commands.items() if isinstance(commands, dict) else ():
            if isinstance(command, dict) and isinstance(command.get("args"), dict):
                yield (section, "commands", name, "args"), command["args"]


# --- compat -----------------------------------------------------------------------------------


def _fill_in(data: dict[str, Any], stem: str) -> Iterator[Fault]:
    """Give a file what the reference does not ask for."""
    tool = data.setdefault("tool", {})
    if not isinstance(tool, dict):
        return
    if isinstance(data.get("session"), dict):
        yield from _fill_in_session(data["session"])
    for key, value in (("name", stem), ("version", "0"), ("description", tool.get("name", stem))):
        if tool.get(key) in (None, ""):
            tool[key] = value
            yield Fault(("tool", key), f"is missing: taken to be {value!r}", lenient=True)


def _fill_in_session(session: dict[str, Any]) -> Iterator[Fault]:
    if "ready_pattern" not in session:
        session["ready_pattern"] = ""
        message = "is missing: the program is ready when it is silent"
        yield Fault(("session", "ready_pattern"), message, lenient=True)
    commands = session.get("commands")
    for name, command in commands.items() if isinstance(commands, dict) else ():
        if not isinstance(command, dict):
            continue
        path = ("session", "commands", name)
        if not command.get("description"):
            command["description"] = name
            message = f"is missing: taken to be {name!r}"
            yield Fault((*path, "description"), message, lenient=True)
        if command.get("args") and "pattern" in command and "template" not in command:
            del command["args"]
            message = "without a template, a line that matches the pattern is taken instead"
            yield Fault((*path, "args"), message, lenient=True)


def _forgivable(detail: Any, fault: Fault) -> Fault:
    """The fault, lenient if the reference would not mind it and nothing is held back by the key."""
    path = _key_path(detail)
    if detail["type"] == "missing":
        return fault
    if detail["type"] != "extra_forbidden":
        return fault._replace(lenient=_may_be_ignored(path))
    if path[:-1] in _SAFETY_TABLES or path[-3:-2] == ("args",) or path[-1] in _SAFETY_NAMES:
        return fault
    meant = _meant(path)
    return fault._replace(lenient=meant is None or _may_be_ignored((*path[:-1], meant)))


def _key_path(detail: Any) -> Path:
    return tuple(takewhile(lambda step: not isinstance(step, int), detail["loc"]))


def _may_be_ignored(path: Path) -> bool:
    if path[0] in ("session", "browser") and path[3:4] == ("args",):
        path = path[3:]
    return any(
        len(path) >= len(known)
        and all(step in ("*", own) for step, own in zip(known, path, strict=False))
        for known in _IGNORABLE
    )


def _take_out(data: dict[str, Any], path: Path) -> bool:
    """Take out a key that cannot be read, so that its default counts. False if it is not there."""
    table: Any = data
    for step in path[:-1]:
        table = table[step] if isinstance(table, dict) and step in table else None
    if not isinstance(table, dict) or path[-1] not in table:
        return False
    del table[path[-1]]
    return True


# --- what is wrong ----------------------------------------------------------------------------


def _fault(detail: Any, types: Mapping[str, CustomType]) -> Fault:
    path = tuple(str(step) for step in detail["loc"])
    kind, given = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        known = _meant(path)
        meant = f"; did you mean {known!r}?" if known else ""
        return Fault(path, f"is not a known key{meant}")
    if kind == "missing":
        return Fault(path, "is missing")
    if kind == "literal_error" and isinstance(given, str):
        expected = detail["ctx"]["expected"]
        choices = expected.split("'")[1::2]
        if path[0] == "args" and path[-1] == "type":
            choices = [*ARGUMENT_TYPES, *types]
            expected += ", and no type of a toolclad.toml beside the manifest or above"
        near = get_close_matches(given, choices, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        return Fault(path, f"{given!r} is not one of {expected}{meant}")
    return Fault(path, detail["msg"])


def _meant(path: Path) -> str | None:
    """The known key that an unknown one was probably meant to be."""
    return next(iter(get_close_matches(path[-1], _known_keys(path), n=1)), None)


def _known_keys(path: Path) -> list[str]:
    if path[-3:-2] == ("args",):
        return sorted({*Argument.model_fields, "min_float", "max_float"} - {"name"})
    model: Any = ManifestKeys
    for step in path[:-1]:
        field = getattr(model, "model_fields", {}).get(step)
        model = _model_in(field.annotation) if field else model  # the key of a dictionary
    fields = getattr(model, "model_fields", {})
    return [field.alias or name for name, field in fields.items()]


def _model_in(annotation: Any) -> Any:
    """The model of an annotation such as ``CommandKeys | None``."""
    choices = (annotation, *getattr(annotation, "__args__", ()))
    return next((choice for choice in choices if hasattr(choice, "model_fields")), None)
