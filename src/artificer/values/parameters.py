"""Arguments that a public function or value does not take: refused by name, with the right way.

Type checkers see the signatures as they are written; this is for programs that nobody checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from inspect import CO_VARKEYWORDS
from types import FunctionType, MethodType
from typing import Any, TypeVar, cast

from artificer.errors import AuthorError
from artificer.values.nearest import nearest

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

PlaceOf = Callable[[str, frozenset[str]], str | None]
"""Says where to put an argument that a function with these parameters does not accept."""


def refuse_unknown(
    owner: str, passed: Iterable[str], known: Iterable[str], place: PlaceOf | None = None
) -> None:
    """Raise AuthorError for a name that is not known, with the one that may have been meant."""
    names = frozenset(known)
    if unknown := [name for name in passed if name not in names]:
        raise AuthorError(
            f"{owner} has no parameter {unknown[0]!r}.",
            hint=(place and place(unknown[0], names)) or nearest(unknown[0], sorted(names)),
        )


def named_parameters(place: PlaceOf | None = None) -> Callable[[C], C]:
    """Make the constructor and the public methods of a class refuse what they do not take.

    A method that takes further options by ``**`` checks these itself.
    """

    def decorate(owner: C) -> C:
        for name, member in [*vars(owner).items()]:
            public = name == "__init__" or not name.startswith("_")
            if public and isinstance(member, FunctionType):
                setattr(owner, name, _checked(member, owner, place))
        return owner

    return decorate


def named_arguments(method: F) -> F:
    """Make a method or constructor reject arguments that it does not accept."""
    return cast(F, _checked(cast(FunctionType, method)))


def _checked(
    function: FunctionType, owner: type | None = None, place: PlaceOf | None = None
) -> Callable[..., Any]:
    code = getattr(function, "__wrapped__", function).__code__
    return function if code.co_flags & CO_VARKEYWORDS else CheckedFunction(function, owner, place)


class CheckedFunction:
    """A function that refuses what it does not take, and becomes a method as every function does.

    It has the attributes of its function, so that `inspect` takes it for one.
    """

    def __init__(self, function: FunctionType, owner: type | None, place: PlaceOf | None) -> None:
        update_wrapper(self, function)
        self.__code__ = function.__code__
        self.__defaults__ = function.__defaults__
        self.__kwdefaults__ = function.__kwdefaults__
        code = getattr(function, "__wrapped__", function).__code__
        self._function, self._owner, self._place = function, owner, place
        self._by_place = code.co_argcount
        self._known = frozenset(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, /, *positional: Any, **named: Any) -> Any:
        if not self._known.issuperset(named):
            refuse_unknown(self._title(positional), named, self._known, self._place)
        if len(positional) > self._by_place:
            raise AuthorError(
                f"{self._title(positional)} takes {self._by_place - 1} of its arguments by "
                f"position, not {len(positional) - 1}.",
                hint=f"Pass the others by name: {', '.join(sorted(self._known))}.",
            )
        return self._function(*positional, **named)

    def _title(self, positional: tuple[Any, ...]) -> str:
        """The name for messages: that of the class, and of the method unless it constructs."""
        first = positional[0] if positional else None
        kind = self._owner or (first if isinstance(first, type) else type(first))
        name = self._function.__name__
        return kind.__name__ if name == "__init__" else f"{kind.__name__}.{name}"
