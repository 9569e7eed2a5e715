"""Reading ``[command]``: its template or list, mappings and conditionals, into groups of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from artificer.backends.command.spec.argv import (
    Flags,
    Group,
    Item,
    ItemPart,
    group_of,
    item_of,
    parse_item,
    parse_template,
    split_words,
)
from artificer.backends.command.spec.keys import CommandKeys
from artificer.contracts.arguments.check import Fault
from artificer.contracts.arguments.condition import (
    ArgumentCondition,
    ArgumentOperand,
    parse_condition,
)

Fragments = Mapping[str, Flags | Group]
"""The meaning of placeholders that are not values: a mapping's flags or a conditional."""


def read_groups(command: CommandKeys, faults: list[Fault]) -> tuple[Group, ...]:
    """The command in groups; empty, with a fault, when there is none, or it is an executor."""
    forms = [key for key in ("exec", "template", "executor") if getattr(command, key) is not None]
    if not forms:
        faults.append(Fault(("command",), "needs either 'exec' or 'template'"))
        return ()
    if len(forms) > 1:
        message = f"needs either 'exec' or 'template', not both; {forms[-1]!r} would be ignored"
        faults.append(Fault(("command",), message, lenient="executor" not in forms))
    if command.executor is not None:
        return ()
    fragments = read_fragments(command, faults)
    key = "exec" if command.exec is not None else "template"
    try:
        groups = (
            tuple(_group(element) for element in command.exec)
            if command.exec is not None
            else parse_template(command.template or "")
        )
    except ValueError as error:
        faults.append(Fault(("command", key), f"cannot be split into items: {error}"))
        return ()
    if not groups or groups[0].names or not groups[0].items or not literal(groups[0].items[0]):
        message = "must begin with the program's name: no argument may choose it"
        faults.append(Fault(("command", key), message))
        return ()
    return tuple(_expanded(group, fragments) for group in groups)


def literal(item: Item | Flags | Group | None) -> str:
    """An item's text; empty for one that depends on values."""
    return (item.literal or "") if isinstance(item, Item) else ""


def read_fragments(command: CommandKeys, faults: list[Fault]) -> Fragments:
    """The mappings and conditionals by the names of their placeholders.

    A mapping is ``_ARG_flags``, the last one also ``_scan_flags``; a conditional is ``_NAME`` and
    ``_cond_NAME``: the spellings of all implementations of the format.
    """
    found: dict[str, Flags | Group] = {}
    for argument, mapping in command.mappings.items():
        flags = Flags(argument=argument, choices=_choices(argument, mapping, faults))
        found["_scan_flags"] = found[f"_{argument}_flags"] = flags
    mapped = dict(found)
    for name, keys in command.conditionals.items():
        path = ("command", "conditionals", name)
        when = _condition(keys.when, (*path, "when"), faults)
        try:
            items = tuple(item for group in parse_template(keys.template) for item in group.items)
        except ValueError as error:
            faults.append(Fault((*path, "template"), f"cannot be split into items: {error}"))
            items = ()
        fragment = _expanded(group_of(items, when), mapped)
        for spelling in (f"_{name}", f"_cond_{name}"):
            if spelling in found:
                faults.append(Fault(path, f"{{{spelling}}} already means something else"))
            found[spelling] = fragment
    return found


def _choices(
    argument: str, mapping: Mapping[str, str], faults: list[Fault]
) -> dict[str, tuple[str, ...]]:
    choices: dict[str, tuple[str, ...]] = {}
    for value, text in mapping.items():
        path = ("command", "mappings", argument, value)
        try:
            words = split_words(text)
        except ValueError as error:
            faults.append(Fault(path, f"cannot be split into items: {error}"))
            continue
        if "{" in text:
            items = [parse_item(word) for word in words]
            words = [item.literal or "" for item in items]
            if any(item.names for item in items):
                message = "cannot hold a placeholder; write {{name}}, or use a conditional"
                faults.append(Fault(path, message))
        choices[value] = tuple(words)
    return choices


def _condition(text: str, path: tuple[str, ...], faults: list[Fault]) -> ArgumentCondition:
    try:
        return parse_condition(text)
    except ValueError as error:
        faults.append(Fault(path, str(error)))
        return ArgumentCondition(join="or")  # never holds


def with_literals(condition: ArgumentCondition, known: frozenset[str]) -> ArgumentCondition:
    """The condition with every unknown name on the right read as text, as the reference does."""
    parts = tuple(with_literals(part, known) for part in condition.parts)
    test = condition.test
    if test is not None and test.compare and test.right.name and test.right.name not in known:
        test = replace(test, right=ArgumentOperand(test.right.name))
    return replace(condition, parts=parts, test=test)


def literal_placeholders(group: Group, known: frozenset[str]) -> Group:
    """The group with every placeholder of an unknown name as its own text."""
    items = tuple(_with_text(item, known) for item in group.items)
    return group_of(items, group.when and with_literals(group.when, known))


def _with_text(item: Item | Flags | Group, known: frozenset[str]) -> Item | Flags | Group:
    if isinstance(item, Group):
        return literal_placeholders(item, known)
    if isinstance(item, Flags) or item.literal is not None:
        return item
    parts = (p if p.name is None or p.name in known else _braced(p.name) for p in item.parts)
    return item_of(tuple(parts))


def _braced(name: str) -> ItemPart:
    return ItemPart(text="{" + name + "}")


def _expanded(group: Group, fragments: Fragments) -> Group:
    if fragments.keys().isdisjoint(group.names):
        return group
    return group_of(tuple(_fragment(item, fragments) for item in group.items), group.when)


def _fragment(item: Item | Flags | Group, fragments: Fragments) -> Item | Flags | Group:
    """Return the fragment that an item names, if it is nothing but its placeholder."""
    if isinstance(item, Item) and len(item.parts) == 1:
        return fragments.get(item.parts[0].name or "", item)
    return item


def _group(element: str | tuple[str, ...]) -> Group:
    texts = (element,) if isinstance(element, str) else element
    return group_of(tuple(parse_item(text) for text in texts))
