"""The JSON Schema of a payload's type.

The schemas are self-contained: no ``$ref``, ``$defs``, ``title`` or ``default``, so that every
provider and every grammar converter takes them, and closed against unknown members.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated, Any, Literal, get_args, get_origin

from msgspec import NODEFAULT

from artificer.values.base import JsonObject, Meta, Value
from artificer.values.declared import defaults_of, types_of

_KEYWORDS = {
    str: {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"},
    tuple: {"min_length": "minItems", "max_length": "maxItems"},
    int: {"ge": "minimum", "le": "maximum"},
    float: {"ge": "minimum", "le": "maximum"},
    bool: {},
}
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def in_schema(schema: JsonObject) -> Meta:
    """An annotation that says in a schema's own words what a type means."""
    return Meta(extra={"schema": schema})


def schema_of(kind: type[Value]) -> dict[str, Any]:
    """The JSON Schema of a type, with everything it refers to in its place."""
    required = [name for name, default in defaults_of(kind).items() if default is NODEFAULT]
    return {
        "type": "object",
        "properties": {name: _schema(hint) for name, hint in types_of(kind).items()},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Any]:
    metas: list[Meta] = []
    if get_origin(hint) is Annotated:
        hint, *metas = get_args(hint)
    schema = _bare(hint)
    for meta in metas:
        schema = dict((meta.extra or {}).get("schema", schema))
        schema |= _constraints(hint, meta)
        if meta.description:
            schema["description"] = meta.description
    return schema


def _constraints(hint: Any, meta: Meta) -> dict[str, Any]:
    keywords = _KEYWORDS.get(get_origin(hint) or hint, {})
    constraints = {keyword: getattr(meta, name) for name, keyword in keywords.items()}
    return {keyword: value for keyword, value in constraints.items() if value is not None}


def _bare(hint: Any) -> dict[str, Any]:
    if isinstance(hint, type) and issubclass(hint, Value):
        return {**schema_of(hint), "description": cleandoc(hint.__doc__ or "")}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _schema(get_args(hint)[0])}
    if get_origin(hint) is Literal:
        options = get_args(hint)
        one = {"const": options[0]} if len(options) == 1 else {"enum": list(options)}
        return {"type": "string", **one}
    return {"type": _TYPES[hint]} if hint in _TYPES else {}
