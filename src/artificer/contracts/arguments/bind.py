"""Giving the arguments of a manifest their values: defaults, limits, and what is refused.

Every backend's call comes through here, after the input schema and before anything is built of
the values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from artificer.contracts.arguments.types import Argument, bounds_of, refusal, text_of
from artificer.contracts.scope import Scope
from artificer.values.base import JsonValue, Problem


class BoundArguments(NamedTuple):
    """The values of a call by name, or the problems for which it cannot be made.

    ``notes`` say what was changed: a number that was brought to its limit.
    """

    values: Mapping[str, JsonValue] = MappingProxyType({})
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def bind(
    arguments: tuple[Argument, ...],
    constants: Mapping[str, JsonValue],
    supplied: Mapping[str, JsonValue],
    scope: Scope | None = None,
) -> BoundArguments:
    """Bind values that have passed the input schema.

    A name's value is what the call gives, else the argument's default, else the constant of that
    name; an argument with none of them has no value. Without a scope nothing is in scope: an
    argument with ``scope_check`` is refused.
    """
    problems: list[Problem] = []
    values = dict(constants)
    notes: list[str] = []
    unknown = len(supplied)
    for argument in arguments:
        name = argument.name
        if name in supplied:
            unknown -= 1
            value = supplied[name]
            values[name] = clamped = _clamped(argument, value) if argument.clamp else value
            if clamped != value:
                notes.append(f"{name}: {value} was brought to {clamped}")
        elif argument.default is not None:
            values[name] = argument.default
        if name not in values:
            if argument.required:
                problems.append(Problem(pointer=f"/{name}", message="is required"))
        elif argument.list:
            problems += _problems_of_list(argument, values[name], scope)
        elif reason := _refusal(argument, values[name], scope):
            problems.append(Problem(pointer=f"/{name}", message=reason))
    if unknown:
        declared = {argument.name for argument in arguments}
        problems[:0] = [
            Problem(pointer=f"/{name}", message="is not a known parameter")
            for name in supplied
            if name not in declared
        ]
    if problems:
        return BoundArguments(problems=tuple(problems))
    return BoundArguments(values, notes=tuple(notes))


def _problems_of_list(
    argument: Argument, value: JsonValue, scope: Scope | None
) -> Iterator[Problem]:
    for number, one in enumerate(argument.each(value)):
        if reason := _refusal(argument, one, scope):
            yield Problem(pointer=f"/{argument.name}/{number}", message=reason)


def _refusal(argument: Argument, value: JsonValue, scope: Scope | None) -> str | None:
    reason = refusal(argument, value)
    if reason or (scope is None and not argument.scope_check):
        return reason
    return _out_of_scope(argument, value, scope)


def _out_of_scope(argument: Argument, value: JsonValue, scope: Scope | None) -> str | None:
    if scope is not None and (argument.scope_check or argument.type == "scope_target"):
        return scope.refusal(text_of(value))
    if argument.scope_check:
        return "is out of scope: the folder's toolclad.toml has no [scope]"
    return None


def _clamped(argument: Argument, value: JsonValue) -> JsonValue:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return value
    low, high = bounds_of(argument)
    return min(max(value, low), high)
