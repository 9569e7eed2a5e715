"""The reference of ``artificer.toml``, from the classes that declare its keys."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from artificer.config import Config
from artificer.policies.load import PolicyKeys
from artificer.values.base import CheckedValue

_TEXTS = Path(__file__).with_suffix(".toml")
DESCRIPTIONS = tomllib.loads(_TEXTS.read_text(encoding="utf-8"))
"""A sentence for each key, by section."""


def reference() -> str:
    """Return all sections as Markdown."""
    return "\n".join(_section("", Config))


def undescribed() -> list[str]:
    """Return the keys without a description, and the descriptions without a key."""
    keys = {(section, key) for section, key in _keys("", Config)}
    known = {(section, key) for section, texts in DESCRIPTIONS.items() for key in texts}
    return sorted(f"[{section}] {key}" for section, key in keys ^ known)


def _fields(section: type[CheckedValue]) -> Iterator[tuple[str, Any, Any]]:
    hints = get_type_hints(section, include_extras=True)
    for field in msgspec.structs.fields(section):
        hint = PolicyKeys if (section, field.name) == (Config, "policy") else hints[field.name]
        yield field.encode_name, hint, field


def _keys(path: str, section: type[CheckedValue]) -> Iterator[tuple[str, str]]:
    for name, hint, _ in _fields(section):
        if below := _below(path, name, hint):
            yield from _keys(_plain(below[0]), below[1])
        else:
            yield _plain(path) or "top", name


def _below(path: str, name: str, hint: Any) -> tuple[str, type[CheckedValue]] | None:
    """Return the heading and the class of a key that is a section of its own."""
    place = f"{_plain(path)}.{name}".lstrip(".")
    for part in _alternatives(hint):
        if isinstance(part, type) and issubclass(part, CheckedValue):
            return place, part
        items = get_args(part)
        value = items[-1] if get_origin(part) is Mapping or _is_mapping(part) else None
        if isinstance(value, type) and issubclass(value, CheckedValue):
            return f"{place}.NAME", value
        first = items[0] if get_origin(part) is tuple else None
        if isinstance(first, type) and issubclass(first, CheckedValue):
            return f"[{place}]", first
    return None


def _is_mapping(part: Any) -> bool:
    origin = get_origin(part)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _plain(path: str) -> str:
    return path.strip("[]")


def _section(path: str, section: type[CheckedValue]) -> Iterator[str]:
    own = [(name, hint, field) for name, hint, field in _fields(section)]
    texts = DESCRIPTIONS.get(_plain(path) or "top", {})
    yield f"## `[{path}]`\n" if path else "## Top level\n"
    rows = [row for row in own if not _below(path, row[0], row[1])]
    if rows:
        yield "| key | type | default | |\n| --- | --- | --- | --- |"
        for name, hint, field in rows:
            kind = _type(hint).replace("|", "\\|")
            yield f"| `{name}` | {kind} | {_default(field)} | {texts.get(name, '')} |"
        yield ""
    for name, hint, _ in own:
        if below := _below(path, name, hint):
            yield from _section(*below)


def _alternatives(hint: Any) -> list[Any]:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [part for part in parts if part is not NoneType]


def _type(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        inner, *metas = get_args(hint)
        return _type(inner) + "".join(_bounds(meta) for meta in metas)
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_type(part) for part in _alternatives(hint))
    if get_origin(hint) is Literal:
        return ", ".join(
            f'`"{word}"`' if isinstance(word, str) else str(word) for word in get_args(hint)
        )
    if get_origin(hint) is tuple:
        return f"list of {_type(get_args(hint)[0])}"
    if _is_mapping(hint):
        return "table"
    names = {str: "text", int: "integer", float: "number", bool: "boolean", Path: "path"}
    return names.get(hint, "value")


def _bounds(meta: msgspec.Meta) -> str:
    words = [
        f"{sign} {bound:,}"
        for sign, bound in (("≥", meta.ge), (">", meta.gt), ("≤", meta.le), ("<", meta.lt))
        if bound is not None
    ]
    return f" ({', '.join(words)})" if words else ""


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else None
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "`[" + ", ".join(f'"{item}"' for item in value) + "]`"
    return f"`{value}`" if isinstance(value, int | float) else f'`"{value}"`'
