"""Cited values: one number or word from a tool result, shown within a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from artificer.artifacts.binding.form import CitedData
from artificer.artifacts.binding.single import form_problems
from artificer.artifacts.fields import Id, Title
from artificer.artifacts.json_schema import in_schema, schema_of
from artificer.artifacts.payload import PayloadKind
from artificer.artifacts.tool import flat_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

MAX_VALUES = 48

_Affix = Annotated[str, Meta(max_length=12, description="A currency sign or a unit, no digits.")]


class ValueFormat(Value):
    """How the number is written."""

    style: Annotated[
        Literal["plain", "grouped", "percent"],
        Meta(description="grouped: 1,234,567; percent: 0.25 as 25%."),
    ] = "plain"
    prefix: _Affix = ""
    suffix: _Affix = ""


_FORMAT = in_schema({**schema_of(ValueFormat), "description": "How the number is written."})


class ValueInput(Value):
    """The arguments of ``create_value``."""

    id: Id
    title: Title = ""
    data: CitedData
    format: Annotated[ValueFormat | None, _FORMAT] = None


class CitedValue(Value):
    """A value with the text that a reader sees. Its binding is stored next to it."""

    id: str
    title: str = ""
    format: ValueFormat | None = None
    value: str
    shown: str


NAME = "create_value"


def tools() -> tuple[ToolDefinition, ...]:
    """Return the tool that makes one."""
    tool = flat_tool(
        NAME,
        "Cite one number or word of a result, so that it is never typed. Put"
        " {{artifact:value:ID}} into a sentence of the answer, with exactly this id.",
        ValueInput,
    )
    return (tool,)


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a value that its schema cannot express."""
    form = payload.get("format")
    if isinstance(form, dict):
        yield from form_problems(form, "/format")


KIND = PayloadKind(
    tools=tools,
    limit=MAX_VALUES,
    problems=lambda _, payload, __: problems(payload),
    load=lambda _, payload: CitedValue.from_json(payload),
    size=lambda made: made.shown,
)
