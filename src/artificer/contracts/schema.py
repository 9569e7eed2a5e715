"""JSON Schema 2020-12 validation: every violation at once, each with pointer, limit and actual.

``jsonschema-rs`` decides; the sentences are ours, so that they stay short and do not repeat what
a model wrote. Patterns run on a linear-time engine; references to anything outside the schema are
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from artificer.contracts.schema_cost import SchemaReferences
from artificer.contracts.schema_repeats import may_have_too_many, takes_too_long
from artificer.contracts.schema_unions import branch_types, hide_branches, meant_branches, tag_of
from artificer.errors import ToolDefinitionError
from artificer.values.base import JsonObject, JsonValue, Plain, Problem
from artificer.values.by_identity import ByIdentity
from artificer.values.canon import canonical
from artificer.values.pointer import escaped
from artificer.values.text import clip

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

MAX_PROBLEMS = 50
"""Problems listed for one value; the last says how many more there are."""

_BOUNDS = {
    "maxLength": ("has too many characters", len),
    "minLength": ("has too few characters", len),
    "maxItems": ("has too many items", len),
    "minItems": ("has too few items", len),
    "maxProperties": ("has too many members", len),
    "minProperties": ("has too few members", len),
    "maximum": ("is too large", None),
    "minimum": ("is too small", None),
    "exclusiveMaximum": ("is too large", None),
    "exclusiveMinimum": ("is too small", None),
    "multipleOf": ("is not a multiple of the step", None),
}

_FORMS = {"pattern": "does not match the pattern", "format": "does not have the format"}


class Schema:
    """A compiled JSON Schema. With ``formats`` a known ``format`` (RFC 3339 dates, addresses, …) is
    a rule like any other; an unknown one says nothing.

    Raises:
        ToolDefinitionError: the schema is not valid, or refers outside itself.
    """

    def __init__(self, schema: JsonObject, *, formats: bool = False) -> None:
        self._schema = schema
        self._formats = formats
        self._validator = _validator(schema, formats)

    @cached_property
    def _explaining(self) -> Draft202012Validator:
        """The validator that finds the problems of a value that was refused."""
        is_same = self._shown is self._schema
        return self._validator if is_same else _validator(self._shown, self._formats)

    @cached_property
    def _shown(self) -> JsonObject:
        """The schema without what problems do not show."""
        return hide_branches(self._schema) or self._schema

    @cached_property
    def _references(self) -> SchemaReferences:
        return SchemaReferences(self._shown)

    def accepts(self, value: JsonValue) -> bool:
        """Whether a value is valid, without a word about why not."""
        try:
            return self._validator.is_valid(value)
        except ValueError:
            return False

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Return every violation, or an empty tuple for a valid value.

        Of a long value that may have very many, the first ones.
        """
        if self.accepts(value):
            return ()
        try:
            if self._validator.is_valid(value):  # at a third of the cost of looking for them all
                return ()
            return self._problems(value)
        except UnicodeEncodeError:
            return (Problem(pointer="", message="holds a lone surrogate, which is no text"),)
        except ValueError:
            return (Problem(pointer="", message="is nested too deeply"),)

    def _problems(self, value: JsonValue) -> tuple[Problem, ...]:
        if takes_too_long(self._shown, self._references, value):
            return (Problem(pointer="", message="is not valid, in a part that lies too deep"),)
        if may_have_too_many(self._shown, self._references, value):
            return self._first_problems(value)
        found: list[Problem] = []
        for error in self._explaining.iter_errors(value):
            found += self._explained(error) if len(found) < MAX_PROBLEMS else _explain(error)
        found.sort(key=lambda p: (p.pointer, p.message))
        if len(found) > MAX_PROBLEMS:
            more = len(found) - MAX_PROBLEMS + 1
            found = found[: MAX_PROBLEMS - 1]
            found.append(Problem(pointer="", message=f"and {more} more problems"))
        return tuple(found)

    def _first_problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Return the problems in the first place that is found."""
        import jsonschema_rs

        try:
            self._explaining.validate(value)
        except jsonschema_rs.ValidationError as error:
            found = islice(self._explained(error), MAX_PROBLEMS - 1)
            return (*found, Problem(pointer="", message="and there may be more problems"))
        return ()

    def _explained(self, error: Any) -> Iterable[Problem]:
        """Return the problems of an error: of a union, those of the branch that was meant."""
        if error.kind.name not in ("anyOf", "oneOf"):
            return _explain(error)
        branches = _at(self._schema, error.schema_path)
        meant = meant_branches(branches, error.instance)
        if meant == [] and (types := branch_types(branches)):
            return [_wrong_type(pointer(list(error.instance_path)), types, error.instance)]
        if meant is not None and len(meant) == 1:
            within = pointer(list(error.instance_path))
            found = compile_schema(meant[0], formats=self._formats).problems(error.instance)
            if found:
                return [one.replace(pointer=within + one.pointer) for one in found]
        if meant is not None and len(meant) > 1 and (tag := tag_of(meant)):
            return [_wrong_tag(error, *tag)]
        return _explain(error)


def _at(schema: JsonValue, path: Sequence[str | int]) -> list[JsonValue]:
    """Return the branches of a union in a schema; none if the path does not lead there."""
    for step in path:
        if isinstance(schema, dict) and str(step) in schema:
            schema = schema[str(step)]
        elif isinstance(schema, list) and isinstance(step, int):
            schema = schema[step]
        else:
            return []
    return schema if isinstance(schema, list) else []


def _validator(schema: JsonObject, formats: bool) -> Draft202012Validator:
    """Return a validator of jsonschema-rs. Raises ToolDefinitionError."""
    import jsonschema_rs  # a third of the time to import the core, and readers validate nothing

    try:
        return jsonschema_rs.Draft202012Validator(
            schema,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(),
            validate_formats=formats,
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        why = str(error).partition("\n")[0].removesuffix(".")
        raise ToolDefinitionError(f"This is not a usable JSON Schema: {why}.") from error


@lru_cache(maxsize=512)
def _compiled(text: bytes, formats: bool) -> Schema:
    return Schema(json.loads(text), formats=formats)


def _compile(schema: JsonObject, formats: bool) -> Schema:
    return _compiled(canonical(schema), formats)


_compiled_object = ByIdentity(_compile)


def compile_schema(schema: JsonObject, *, formats: bool = False) -> Schema:
    """Return the compiled schema of an object that nobody changes.

    One is made for equal schemas, and found at once for the same object.
    """
    return _compiled_object(schema, formats)


def pointer(path: list[str | int]) -> str:
    """Return the RFC 6901 JSON Pointer of a path."""
    return "".join("/" + escaped(str(step)) for step in path)


def _explain(error: Any) -> Iterator[Problem]:
    keyword, where, value = error.kind.name, list(error.instance_path), error.instance
    if keyword == "required":
        missing = error.kind.property
        yield Problem(pointer=pointer([*where, missing]), message="is required")
    elif keyword in ("additionalProperties", "unevaluatedProperties"):
        for name in error.kind.unexpected:
            yield Problem(pointer=pointer([*where, name]), message="is not a known parameter")
    elif keyword in _BOUNDS:
        message, measure = _BOUNDS[keyword]
        actual = measure(value) if measure else value
        rule = error.kind.as_dict()
        limit = rule.get("limit", rule.get("multiple_of"))
        yield Problem(pointer=pointer(where), message=message, limit=limit, actual=actual)
    else:
        yield _one(keyword, pointer(where), value, error)


def _one(keyword: str, where: str, value: Any, error: Any) -> Problem:
    if keyword == "type":
        return _wrong_type(where, error.kind.types, value)
    if keyword == "enum":
        return Problem(
            pointer=where,
            message="is not one of the allowed values",
            limit=tuple(_short(option) for option in error.kind.options),
            actual=_short(value),
        )
    if keyword == "const":
        return Problem(
            pointer=where,
            message="must be exactly the expected value",
            limit=_short(error.kind.expected_value),
            actual=_short(value),
        )
    if keyword in _FORMS:
        return Problem(
            pointer=where,
            message=_FORMS[keyword],
            limit=getattr(error.kind, keyword),
            actual=_short(value),
        )
    return Problem(pointer=where, message=f"breaks the rule {keyword!r}", actual=_kind_of(value))


def _wrong_type(where: str, types: Iterable[str], value: Any) -> Problem:
    limit, actual = ", ".join(types), _kind_of(value)
    return Problem(pointer=where, message="has the wrong type", limit=limit, actual=actual)


def _wrong_tag(error: Any, name: str, constants: Iterable[JsonValue]) -> Problem:
    where = pointer([*error.instance_path, name])
    if name not in error.instance:
        return Problem(pointer=where, message="is required")
    message, limit = "is not one of the allowed values", tuple(map(_short, constants))
    return Problem(pointer=where, message=message, limit=limit, actual=_short(error.instance[name]))


def _kind_of(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def _short(value: Any) -> Plain:
    if isinstance(value, str):
        return clip(value, 80)
    if isinstance(value, float):
        return repr(value)
    return value if isinstance(value, (bool, int)) or value is None else _kind_of(value)
