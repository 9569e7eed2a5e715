"""The classes of values: how their fields are declared, and which arguments make one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from artificer.errors import InvalidValueError
from artificer.values.declared import defaults_of
from artificer.values.nearest import nearest
from artificer.values.text import well_formed

_TEXT = re.compile(r"\bText\b")


class ValueType(msgspec.StructMeta):
    """Makes fields keyword-only, tags unions, and mends the texts of a class."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        tag_field = options.get("tag_field", _tag_field(bases))
        if tag_field in namespace:
            options["tag"] = namespace[tag_field]
        hints = namespace.get("__annotations__", {})
        written = ((n, hint) for n, hint in hints.items() if isinstance(hint, str))
        own = (n for n, hint in written if "Text" in hint and _TEXT.search(hint))
        texts = tuple(n for base in bases for n in getattr(base, "_texts", ())) + tuple(own)
        if texts:
            namespace.setdefault("__post_init__", _mend)
            namespace["_texts"] = texts
        return super().__new__(mcls, name, bases, namespace, kw_only=True, **options)


def _tag_field(bases: tuple[type, ...]) -> str | None:
    configs = (base.__struct_config__ for base in bases if issubclass(base, Struct))
    return next((config.tag_field for config in configs if config.tag_field), None)


def _mend(value: Any) -> None:
    """Take lone surrogates out of a value's texts."""
    for name in value._texts:
        text = getattr(value, name)
        if text.__class__ is str:
            if not text.isascii():
                msgspec.structs.force_setattr(value, name, well_formed(text))
        elif text.__class__ is tuple and text:
            mended = tuple(well_formed(t) if isinstance(t, str) else t for t in text)
            msgspec.structs.force_setattr(value, name, mended)


class NamedType(msgspec.StructMeta):
    """The class of what people make: it names the argument that it does not take."""

    if not TYPE_CHECKING:  # or a type checker would take this for the signature

        def __call__(self, *positional: Any, **fields: Any) -> Any:
            try:
                return super().__call__(*positional, **fields)
            except TypeError as error:
                raise _refused(self, positional, fields) or error from None


class NamedValueType(NamedType, ValueType):
    """The class of values that people make."""


def refusal(kind: type[Struct], fields: Iterable[str]) -> InvalidValueError | None:
    """Return the error for the first name that is not a field of a value."""
    names = _fields(kind)
    unknown = [name for name in fields if name not in names]
    if not unknown:
        return None
    hint = _made_by(kind) or nearest(unknown[0], sorted(names))
    return _error(kind, f"has no field {unknown[0]!r}", hint)


def _refused(
    kind: type[Struct], positional: tuple[Any, ...], fields: dict[str, Any]
) -> InvalidValueError | None:
    by_place, names = len(kind.__match_args__), _fields(kind)
    if len(positional) <= by_place:
        return refusal(kind, fields) or _incomplete(kind, {*names[: len(positional)], *fields})
    known = f"Known: {', '.join(names)}."
    hint = _made_by(kind) or f"For example {kind.__name__}({names[0]}=…). {known}"
    if by_place:
        return _error(kind, f"takes at most {by_place} values by position", known)
    return _error(kind, "takes its fields by name", hint)


def _incomplete(kind: type[Struct], passed: set[str]) -> InvalidValueError | None:
    """Return the error for the fields that are missing."""
    needed = [name for name, default in defaults_of(kind).items() if default is msgspec.NODEFAULT]
    missing = [name for name in needed if name not in passed]
    reason = f"lacks {' and '.join(map(repr, missing))}"
    return _error(kind, reason, _made_by(kind) or None) if missing else None


def _error(kind: type[Struct], reason: str, hint: str | None = None) -> InvalidValueError:
    refused = InvalidValueError(kind.__name__, "", reason)
    refused.hint = hint
    return refused


def _fields(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if not name.startswith("_"))


def _made_by(kind: type[Struct]) -> str:
    """Return how a value is made that its fields are not meant for."""
    ways = getattr(kind, "made_by", ())
    return f"Write {' or '.join(f'{kind.__name__}.{way}' for way in ways)}." if ways else ""
