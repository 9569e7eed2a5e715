"""What must hold between the keys of a manifest, once each of them has been read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from artificer.contracts.arg_types import Argument, refusal, schema_of
from artificer.contracts.argv import Flags, Group, Item, build_argv, parse_item, parse_template
from artificer.contracts.manifest_keys import CommandKeys, ManifestKeys
from artificer.contracts.schema import compile_schema
from artificer.errors import AuthorError, ToolDefinitionError

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TEXTS = ("string", "regex_match", "enum", "path", "url", "ip_address")
_NUMBERS = ("integer", "number", "port")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"})


class Fault(NamedTuple):
    """One thing wrong with a manifest: the path of a key, and what is wrong there."""

    path: tuple[str, ...]
    message: str


# --- arguments --------------------------------------------------------------------------------


def argument_faults(argument: Argument) -> list[Fault]:
    """What is wrong with one argument, its default included."""
    path = ("args", argument.name)
    found = [Fault((*path, key), message) for key, message in _key_faults(argument)]
    if found or argument.default is None:
        return found
    problems = compile_schema(schema_of(argument)).problems(argument.default)
    reasons = [p.message for p in problems]
    if not reasons and (refused := refusal(argument, argument.default)):
        reasons = [refused]
    return [Fault((*path, "default"), reason) for reason in reasons]


def _key_faults(argument: Argument) -> Iterator[tuple[str, str]]:
    kind = argument.type
    if not _NAME.fullmatch(argument.name):
        yield "name", "an argument's name consists of letters, digits and '_'"
    if kind == "enum" and not argument.allowed:
        yield "allowed", "is missing: an enum needs its values"
    if kind == "regex_match" and argument.pattern is None:
        yield "pattern", "is missing: a regex_match needs one"
    if argument.required and argument.default is not None:
        yield "default", "is never used, because the argument is required"
    for key, kinds in (
        ("pattern", _TEXTS),
        ("allowed", _TEXTS),
        ("min", _NUMBERS),
        ("max", _NUMBERS),
        ("schemes", ("url",)),
        ("multiline", _TEXTS),
    ):
        if key in argument.model_fields_set and kind not in kinds:
            yield key, f"means nothing for the type {kind!r}"
    if argument.min is not None and argument.max is not None and argument.min > argument.max:
        yield "min", f"{argument.min} is more than max, {argument.max}"
    if argument.pattern is not None:
        try:  # alone: "a)|(b" would only become a pattern inside our own parentheses
            compile_schema({"pattern": argument.pattern})
        except ToolDefinitionError:
            yield "pattern", "is not a regular expression that runs in linear time"
            return
    try:
        compile_schema(schema_of(argument))
    except AuthorError as error:
        yield "type", f"has no JSON Schema with these limits: {str(error).splitlines()[0]}"


# --- the command ------------------------------------------------------------------------------


def read_groups(command: CommandKeys, faults: list[Fault]) -> tuple[Group, ...]:
    """The command in groups; empty, with a fault, when there is none."""
    if (command.template is None) == (command.exec is None):
        faults.append(Fault(("command",), "needs either 'exec' or 'template'"))
        return ()
    if command.exec is not None:
        groups = tuple(_group(element) for element in command.exec)
        key = "exec"
    else:
        key = "template"
        try:
            groups = parse_template(command.template or "")
        except ValueError as error:
            faults.append(Fault(("command", key), f"cannot be split into items: {error}"))
            return ()
    if not groups or groups[0].names or not groups[0].items or not _literal(groups[0].items[0]):
        message = "must begin with the program's name: no argument may choose it"
        faults.append(Fault(("command", key), message))
        return ()
    flags = _read_mappings(command, faults)
    return tuple(
        Group(items=tuple(_expanded(item, flags) for item in group.items)) for group in groups
    )


def _read_mappings(command: CommandKeys, faults: list[Fault]) -> dict[str, Flags]:
    """The mappings by the names of their placeholders."""
    found = {}
    for argument, mapping in command.mappings.items():
        choices: dict[str, tuple[str, ...]] = {}
        for value, text in mapping.items():
            path = ("command", "mappings", argument, value)
            try:
                choices[value] = tuple(parse_item(t).literal or "" for t in shlex.split(text))
            except ValueError as error:
                faults.append(Fault(path, f"cannot be split into items: {error}"))
            if parse_item(text).names:
                faults.append(Fault(path, "cannot hold a placeholder in this release yet"))
        found[f"_{argument}_flags"] = Flags(argument=argument, choices=choices)
    return found


def _expanded(item: Item | Flags, flags: dict[str, Flags]) -> Item | Flags:
    """The mapping that an item stands for, if it is nothing but its placeholder."""
    if isinstance(item, Item) and len(item.parts) == 1:
        return flags.get(item.parts[0].name or "", item)
    return item


def _group(element: str | tuple[str, ...]) -> Group:
    texts = (element,) if isinstance(element, str) else element
    return Group(items=tuple(parse_item(text) for text in texts))


def command_faults(keys: ManifestKeys, groups: tuple[Group, ...]) -> list[Fault]:
    """What is wrong between a command and its arguments."""
    key = "exec" if keys.command.exec is not None else "template"
    path = ("command", key)
    known = {*keys.args, *keys.command.defaults}
    used = {name for group in groups for name in group.names}
    found = [Fault(path, _unknown(name, keys)) for name in sorted(used - known)]
    found += [Fault(("args", n), "is not used by the command") for n in keys.args if n not in used]
    found += [
        Fault(("command", "defaults", n), "is not used by the command")
        for n in keys.command.defaults
        if n not in used
    ]
    found += _mapping_faults(keys)
    found += [Fault(path, message) for message in _program_faults(keys.tool.binary, groups)]
    found += [Fault(path, message) for message in _item_faults(keys, groups)]
    if not found:
        arguments = tuple(keys.args.values())
        defaults = build_argv(groups, arguments, keys.command.defaults, {}).problems
        found += [Fault(("args", p.pointer[1:], "default"), p.message) for p in defaults]
    return found


def _unknown(name: str, keys: ManifestKeys) -> str:
    if name in {f"_{argument}_flags" for argument in keys.command.mappings}:
        return f"{{{name}}} must be an item of its own, because it may become several"
    return f"{{{name}}} is no argument; write {{{{{name}}}}} for the text itself"


def _mapping_faults(keys: ManifestKeys) -> Iterator[Fault]:
    for name, mapping in keys.command.mappings.items():
        path = ("command", "mappings", name)
        argument = keys.args.get(name)
        if argument is None:
            yield Fault(path, "is no argument")
            continue
        values = ("true", "false") if argument.type == "boolean" else argument.allowed
        for value in mapping:
            if values and value not in values:
                yield Fault((*path, value), f"is no value of {name}: {', '.join(values)}")


def _program_faults(binary: str, groups: tuple[Group, ...]) -> Iterator[str]:
    items = [item for group in groups for item in group.items]
    program = _literal(items[0])
    if any("\0" in part.text for item in items if isinstance(item, Item) for part in item.parts):
        yield "holds a NUL character"
    if binary and _base(binary) != _base(program):
        yield f"runs {program!r}, but tool.binary says {binary!r}"
    if _base(program) in _SHELLS:
        for before, item in pairwise(items):
            if isinstance(item, Item) and item.names and re.fullmatch(r"-\w*c", _literal(before)):
                yield "puts an argument into a shell's script, where it could be any command"


def _base(program: str) -> str:
    return program.rpartition("/")[2]


def _item_faults(keys: ManifestKeys, groups: tuple[Group, ...]) -> Iterator[str]:
    optional = {
        name
        for name, argument in keys.args.items()
        if not argument.required and argument.default is None
    } - set(keys.command.defaults)
    before: Item | Flags | None = None
    for group in groups:
        alone = group.items[0] if len(group.items) == 1 else None
        lost = optional & set(alone.names) if isinstance(alone, Item) else set()
        if lost and _is_option(before):
            yield (
                f"would leave {_literal(before)!r} alone when {{{min(lost)}}} "
                "is not given; put both into a list of their own in 'exec', or join them with '='"
            )
        for item in group.items:
            if isinstance(item, Item):
                yield from _path_faults(keys, item)
        before = group.items[-1] if group.items else None


def _literal(item: Item | Flags | None) -> str:
    """An item's text; empty for one that depends on values."""
    return (item.literal or "") if isinstance(item, Item) else ""


def _is_option(item: Item | Flags | None) -> bool:
    text = _literal(item)
    return text.startswith("-") and text not in ("-", "--") and "=" not in text


def _path_faults(keys: ManifestKeys, item: Item) -> Iterator[str]:
    """A path is confined to a folder by what it says alone: nothing may be glued to it."""
    for index, part in enumerate(item.parts):
        argument = keys.args.get(part.name or "")
        if argument and argument.type == "path":
            before = item.parts[index - 1] if index else None
            alone = before is None or (before.name is None and before.text.endswith(("=", ":")))
            if not alone or index + 1 < len(item.parts):
                yield f"joins other text to the path {{{part.name}}}; only '=' or ':' may precede"
