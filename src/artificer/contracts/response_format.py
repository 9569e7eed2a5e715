"""The JSON that the final reply of a run has to be (seed 004, ``LlmTextFormat``)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any

from artificer.contracts.schema import MAX_PROBLEMS, compile_schema, pointer
from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
from artificer.contracts.strict_schema import strict
from artificer.errors import AuthorError
from artificer.values.base import CheckedValue, JsonObject, JsonValue, Meta, Problem
from artificer.values.canon import canonical
from artificer.values.strict_json import parse_value
from artificer.values.text import clip

MAX_SCHEMA = 100_000
"""Longest schema, in bytes of canonical JSON: it travels with every request."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class ResponseFormat(CheckedValue):
    """A JSON Schema for the final reply, the one without tool calls.

    ``json_schema`` is the text of a JSON Schema, with its members in their author's order, which is
    that in which a model writes. Every reply is held against it here, whatever a provider promises.
    ``strict`` demands a schema that every strict mode can express, so that a provider that has one
    cannot write anything else. ``type`` names the Python type that the schema was made of: its own
    validators hold the reply as well, and who resumes the run gives the type again.
    """

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")] = "reply"
    json_schema: str
    strict: bool = False
    type: str = ""

    def to_schema(self) -> JsonObject:
        """The schema, parsed."""
        return _parsed(self.json_schema)

    def validate(self, text: str, *, formats: bool = False) -> tuple[str, tuple[Problem, ...]]:
        """Hold a reply against the schema: return it as JSON text, and every violation.

        With ``formats`` a ``format`` of the schema is a rule too. That of a type is not: the type
        itself says what it takes.

        Nothing is guessed: words or a code fence around the JSON are a violation. Only the nulls
        with which strict modes write optional members that are left out are taken away.
        """
        value = parse_value(text)
        if isinstance(value, tuple):
            return text, value
        schema = compile_schema(self.to_schema(), formats=formats and not self.type)
        problems = schema.problems(value)
        if problems and isinstance(value, dict):
            lean = strict(self.to_schema(), OPENAI_STRICT).without_added_nulls(value)
            if not schema.problems(lean):
                return json.dumps(lean, ensure_ascii=False), ()
        return text.strip(), problems


def format_of(
    source: ResponseFormat | Mapping[str, JsonValue] | type[Any],
) -> ResponseFormat:
    """Make the format of a JSON Schema, or of a type: a pydantic model, a dataclass, a TypedDict.

    Raises:
        AuthorError: the value is not a schema, or not a usable one.
    """
    if isinstance(source, ResponseFormat):
        return _usable(source)
    schema = dict(source) if isinstance(source, Mapping) else _schema_of(source)
    canonical(schema)  # raises for what no JSON can say
    text = json.dumps(schema, ensure_ascii=False)
    title = schema.get("title")
    name = _NOT_IN_A_NAME.sub("-", title if isinstance(title, str) else "").strip("-")[:64]
    made_of = "" if isinstance(source, Mapping) else type_name(source)
    return _usable(ResponseFormat(name=name or "reply", json_schema=text, type=made_of))


OutputCheck = Callable[[str], tuple[Problem, ...]]
"""A type's own validators, for a reply that is JSON and fits the type's schema."""


def output_check(kind: type[Any]) -> OutputCheck:
    """Return what holds a reply against a type: a pydantic model, a dataclass, a TypedDict.

    Every violation comes with its pointer. Raises AuthorError when a validator breaks: a model does
    not hear of a mistake of the type's author.
    """
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def check(text: str) -> tuple[Problem, ...]:
        try:
            adapter.validate_json(text)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            return tuple(
                Problem(pointer=pointer(list(one["loc"])), message=clip(one["msg"], 500))
                for one in found[:MAX_PROBLEMS]
            )
        except Exception as error:
            raise AuthorError(
                f"A validator of {type_name(kind)}failed: {error!r}.",
                hint="A validator rejects a value with ValueError or AssertionError. Fix it and "
                "resume the run.",
            ) from error
        return ()

    return check


def type_name(kind: type[Any]) -> str:
    """The name of a type, as it is recorded."""
    return f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else repr(kind)


def _schema_of(source: Any) -> JsonObject:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        schema: JsonObject = TypeAdapter(source).json_schema()
    except PydanticUserError as error:
        raise AuthorError(
            f"{source!r} has no JSON Schema: {error.message}.",
            hint="Give a JSON Schema, or a pydantic model, a dataclass or a TypedDict.",
        ) from error
    return schema


def _usable(wanted: ResponseFormat) -> ResponseFormat:
    schema = parse_value(wanted.json_schema)
    if not isinstance(schema, dict):
        raise AuthorError("The schema of a response format is a JSON object.")
    if len(wanted.json_schema.encode()) > MAX_SCHEMA:
        raise AuthorError(f"The schema of a response format has at most {MAX_SCHEMA} bytes.")
    compile_schema(schema)
    fits = [strict(schema, dialect).fits for dialect in (OPENAI_STRICT, ANTHROPIC_STRICT)]
    if wanted.strict and not all(fits):
        raise AuthorError(
            "The schema says what the providers' strict modes cannot express.",
            hint="Describe closed objects without oneOf, allOf, recursion or free-form members; "
            "or ask without strict: the reply is held against the schema in any case.",
        )
    return wanted


@lru_cache(maxsize=64)
def _parsed(text: str) -> JsonObject:
    schema: JsonObject = json.loads(text)
    return schema
