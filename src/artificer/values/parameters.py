"""Arguments that a public function or value does not take: refused by name, with the right way.

Type checkers see the signatures as they are written; this is for programs that nobody checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import CO_COROUTINE, CO_VARKEYWORDS
from types import FunctionType
from typing import Any, TypeVar, cast

from artificer.errors import AuthorError
from artificer.values.nearest import nearest

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

PlaceOf = Callable[[str, frozenset[str]], str | None]
"""Says where an argument belongs that a function with these parameters does not take."""


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
    """Make one method, a constructor or one of a class, refuse what it does not take."""
    return cast(F, _checked(cast(FunctionType, method)))


def _checked(
    function: FunctionType, owner: type | None = None, place: PlaceOf | None = None
) -> Callable[..., Any]:
    code = getattr(function, "__wrapped__", function).__code__
    if code.co_flags & CO_VARKEYWORDS:
        return function
    by_place = code.co_argcount
    known = frozenset(code.co_varnames[1 : by_place + code.co_kwonlyargcount])

    def title(first: object) -> str:
        kind = owner or (first if isinstance(first, type) else type(first))
        return kind.__name__ + ("" if code.co_name == "__init__" else f".{code.co_name}")

    def check(positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not known.issuperset(named):
            refuse_unknown(title(positional[0]), named, known, place)
        if len(positional) > by_place:
            raise AuthorError(
                f"{title(positional[0])} takes {by_place - 1} of its arguments by position, not "
                f"{len(positional) - 1}.",
                hint=f"Pass the others by name: {', '.join(sorted(known))}.",
            )

    @wraps(function)
    def called(*positional: Any, **named: Any) -> Any:
        check(positional, named)
        return function(*positional, **named)

    @wraps(function)
    async def awaited(*positional: Any, **named: Any) -> Any:
        check(positional, named)
        return await function(*positional, **named)

    return awaited if function.__code__.co_flags & CO_COROUTINE else called
