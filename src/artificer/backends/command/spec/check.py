"""Checks of a command against its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from artificer.backends.command.spec.argv import (
    Flags,
    Group,
    Item,
    build_argv,
    conditions_of,
    items_of,
)
from artificer.backends.command.spec.keys import CommandKeys
from artificer.backends.command.spec.read import literal
from artificer.contracts.arguments.check import Fault
from artificer.contracts.arguments.condition import ArgumentCondition
from artificer.contracts.arguments.types import FILES, NUMBERS, text_of
from artificer.manifests.keys import CALL_PLACES, PLACES, ManifestKeys

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"})


def known_names(keys: ManifestKeys, command: CommandKeys) -> frozenset[str]:
    """Return the names that a placeholder may have."""
    return frozenset((*keys.args, *command.defaults, *PLACES, *CALL_PLACES))


def command_faults(
    keys: ManifestKeys,
    command: CommandKeys,
    groups: tuple[Group, ...],
    elsewhere: frozenset[str] = frozenset(),
) -> list[Fault]:
    """Return the faults between a command and its arguments.

    ``elsewhere`` are the names that its other inputs use.
    """
    path = ("command", "exec" if command.exec is not None else "template")
    known = known_names(keys, command)
    items = tuple(items_of(groups))
    placed = {name for item in items for name in item.names}
    conditions = tuple(conditions_of(groups)) if command.conditionals else ()
    used = placed.union(*(when.names for when in conditions))
    found = [
        Fault(path, _unknown(n, command), lenient=True) for n in sorted((used - known) & placed)
    ]
    found += [
        Fault(_CONDITIONS, f"{n} is not an argument; write '{n}' for the text itself", lenient=True)
        for n in sorted(used - known - placed)
    ]
    found += [
        Fault(("args", n), _UNUSED, lenient=True) for n in keys.args if n not in used | elsewhere
    ]
    found += [
        Fault(("command", "defaults", n), _UNUSED, lenient=True)
        for n in command.defaults
        if n not in used
    ]
    found += mapping_faults(keys, command)
    found += _conditional_faults(keys, command, conditions)
    found += [Fault(path, text, lenient) for text, lenient in _program_faults(keys, items)]
    found += [Fault(path, text, lenient=True) for text in _lost_values(keys, command, groups)]
    found += [Fault(path, text) for text in _item_faults(keys, items)]
    if all(fault.lenient for fault in found):
        found += _dash_faults(keys, command, groups)
    return found


def _dash_faults(
    keys: ManifestKeys, command: CommandKeys, groups: tuple[Group, ...]
) -> Iterator[Fault]:
    """Defaults that would begin an option."""
    arguments = tuple(keys.args.values())
    defaults = {a.name: a.default for a in arguments if a.default is not None}
    if any(text_of(v).startswith(("-", '["-', "[-")) for v in defaults.values()):
        for problem in build_argv(groups, arguments, {**command.defaults, **defaults}).problems:
            yield Fault(("args", problem.pointer[1:], "default"), problem.message)


_CONDITIONS = ("command", "conditionals")
_UNUSED = "is not used by the command"


def executor_faults(keys: ManifestKeys) -> Iterator[Fault]:
    """Yield the faults that keep the arguments from an executor's environment."""
    taken: dict[str, str] = {}
    for name in keys.args:
        other = taken.setdefault(name.upper(), name)
        if other != name:
            message = f"is TOOLCLAD_ARG_{name.upper()} for the executor, and so is {other!r}"
            yield Fault(("args", name), message)


def _unknown(name: str, command: CommandKeys) -> str:
    flags = {"_scan_flags", *(f"_{argument}_flags" for argument in command.mappings)}
    parts = {f"{prefix}{n}" for n in command.conditionals for prefix in ("_", "_cond_")}
    if (command.mappings and name in flags) or name in parts:
        return f"{{{name}}} must be an item of its own, because it may become several"
    return f"{{{name}}} is not an argument; write {{{{{name}}}}} for the text itself"


def mapping_faults(keys: ManifestKeys, command: CommandKeys) -> Iterator[Fault]:
    """Yield the faults between mappings or conditions and the arguments they refer to."""
    for name, mapping in command.mappings.items():
        path = ("command", "mappings", name)
        argument = keys.args.get(name)
        if argument is None:
            yield Fault(path, "is not an argument")
            continue
        values = ("true", "false") if argument.type == "boolean" else argument.allowed
        for value in mapping:
            if values and value not in values:
                message = f"is not a value of {name}: {', '.join(values)}"
                yield Fault((*path, value), message, lenient=True)


def _conditional_faults(
    keys: ManifestKeys, command: CommandKeys, conditions: tuple[ArgumentCondition, ...]
) -> Iterator[Fault]:
    if not command.conditionals:
        return
    whole = str((command.template, command.exec))
    for name in command.conditionals:
        if f"{{_{name}}}" not in whole and f"{{_cond_{name}}}" not in whole:
            yield Fault((*_CONDITIONS, name), f"{_UNUSED}; write {{_{name}}} there", lenient=True)
    for when in conditions:
        yield from _order_faults(keys, when)


def _order_faults(keys: ManifestKeys, when: ArgumentCondition) -> Iterator[Fault]:
    """Comparisons by size of values that are not numbers: they would never hold."""
    if when.test is not None and when.test.compare not in (None, "==", "!="):
        for name in filter(None, (when.test.left.name, when.test.right.name)):
            argument = keys.args.get(name)
            if argument is not None and (argument.type not in NUMBERS or argument.list):
                message = f"{name} is not a number, so {when.test.compare!r} never holds"
                yield Fault(_CONDITIONS, message)
    for part in when.parts:
        yield from _order_faults(keys, part)


def _program_faults(
    keys: ManifestKeys, items: tuple[Item | Flags, ...]
) -> Iterator[tuple[str, bool]]:
    program = literal(items[0])
    if any("\0" in text for item in items if isinstance(item, Item) for text in _texts(item)):
        yield "holds a NUL character", False
    binary = keys.tool.binary
    if binary and _base(binary) != _base(program):
        yield f"runs {program!r}, but tool.binary says {binary!r}", True
    if _base(program) in _SHELLS:
        for before, item in pairwise(items):
            if isinstance(item, Item) and item.names and re.fullmatch(r"-\w*c", literal(before)):
                yield "puts an argument into a shell's script, where it could be any command", False


def _texts(item: Item) -> Iterable[str]:
    """Return the texts that the manifest itself puts into an item."""
    return (part.text for part in item.parts) if item.literal is None else (item.literal,)


def _base(program: str) -> str:
    return program.rpartition("/")[2]


def _lost_values(
    keys: ManifestKeys, command: CommandKeys, groups: tuple[Group, ...]
) -> Iterator[str]:
    """Options that would stand without their value when that is not given."""
    optional = {
        name
        for name, argument in keys.args.items()
        if not argument.required and argument.default is None
    } - set(command.defaults)
    if not optional:
        return
    before: Item | Flags | Group | None = None
    for group in groups:
        single = len(group.items) == 1 and isinstance(group.items[0], Item)
        lost = optional.intersection(group.names) if single and _is_option(before) else None
        if lost:
            yield (
                f"would leave {literal(before)!r} alone when {{{min(lost)}}} "
                "is not given; put both into a list of their own in 'exec', or join them with '='"
            )
        before = group.items[-1] if group.items else None


def _is_option(item: Item | Flags | Group | None) -> bool:
    text = literal(item)
    return text.startswith("-") and text not in ("-", "--") and "=" not in text


def _item_faults(keys: ManifestKeys, items: tuple[Item | Flags, ...]) -> Iterator[str]:
    if not any(argument.list or argument.type in FILES for argument in keys.args.values()):
        return
    for item in items:
        if isinstance(item, Item) and item.names:
            yield from _path_faults(keys, item)
            if sum(keys.args[name].list for name in item.names if name in keys.args) > 1:
                yield "joins two lists in one item"


def _path_faults(keys: ManifestKeys, item: Item) -> Iterator[str]:
    """A path is confined to a folder by what it says alone: nothing may be glued to it."""
    for index, part in enumerate(item.parts):
        argument = keys.args.get(part.name or "")
        if argument and argument.type in FILES:
            before = item.parts[index - 1] if index else None
            begins = before is None or (before.name is None and _may_precede(before.text))
            if not begins or index + 1 < len(item.parts):
                yield (
                    f"joins other text to the path {{{part.name}}}; only '=', ':' or './' may "
                    "precede"
                )


def _may_precede(text: str) -> bool:
    """Whether a path still means the same behind this text."""
    return text.removesuffix("./").endswith(("=", ":")) or text == "./"
