"""The outcome of a binding: the members of a payload, or problems."""

from __future__ import annotations

from msgspec import Struct

from artificer.values.base import JsonObject, Problem


class ResolvedBinding(Struct, frozen=True):
    """The members that a binding fills in, and what is recorded next to it."""

    members: JsonObject
    recorded: JsonObject


class BindingProblems(Struct, frozen=True):
    """Why a binding cannot be resolved: all its faults that can be found at once."""

    found: tuple[Problem, ...]
