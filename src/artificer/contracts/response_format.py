"""The JSON that the final reply of a run has to be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

from artificer.contracts.output import output_type
from artificer.contracts.schema import compile_schema
from artificer.errors import AuthorError
from artificer.values.base import CheckedValue, JsonObject, Meta, Problem
from artificer.values.canon import canonical
from artificer.values.strict_json import parse_value

MAX_SCHEMA = 100_000
"""Longest schema, in bytes of canonical JSON: it travels with every request."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class ResponseFormat(CheckedValue):
    """A JSON Schema for the final reply, the one without tool calls.

    ``json_schema`` is the text of a JSON Schema, with its members in their author's order, which is
    that in which a model writes. Every reply is held against it here, whatever a provider promises.
    ``strict`` demands a schema that every strict mode can express, so that a provider that has one
    cannot write anything else. ``type`` names the Python type or function that the schema was made
    of: it checks the reply too, so resuming the run takes an agent that has it.
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
            from artificer.contracts.strict_dialect import OPENAI_STRICT
            from artificer.contracts.strict_schema import strict

            lean = strict(self.to_schema(), OPENAI_STRICT).without_added_nulls(value)
            if not schema.problems(lean):
                return json.dumps(lean, ensure_ascii=False), ()
        return text.strip(), problems


def format_of(source: Any) -> ResponseFormat:
    """Make the format of a JSON Schema, of a type, of a union of types, or of a function.

    Raises:
        AuthorError: the value is not a schema, or not a usable one.
    """
    if isinstance(source, ResponseFormat):
        return _usable(source)
    if isinstance(source, Mapping):
        return _format_of(dict(source))
    kind = output_type(source)
    return _format_of(kind.schema, kind.name)


def _format_of(schema: JsonObject, made_of: str = "") -> ResponseFormat:
    canonical(schema)  # raises for what no JSON can say
    text = json.dumps(schema, ensure_ascii=False)
    title = schema.get("title")
    name = _NOT_IN_A_NAME.sub("-", title if isinstance(title, str) else "").strip("-")[:64]
    return _usable(ResponseFormat(name=name or "reply", json_schema=text, type=made_of))


def _usable(wanted: ResponseFormat) -> ResponseFormat:
    schema = parse_value(wanted.json_schema)
    if not isinstance(schema, dict):
        raise AuthorError("The schema of a response format is a JSON object.")
    if len(wanted.json_schema.encode()) > MAX_SCHEMA:
        raise AuthorError(f"The schema of a response format has at most {MAX_SCHEMA} bytes.")
    compile_schema(schema)
    from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
    from artificer.contracts.strict_schema import strict

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
