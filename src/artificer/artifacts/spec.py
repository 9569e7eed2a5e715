"""Specs: the three to seven phases of one part of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, ClassVar, Literal

from artificer.artifacts.fields import blank, blanks, items, text, text_field
from artificer.artifacts.names import MAX_PATH, KebabName, name_problems, path_problems
from artificer.artifacts.plan import MAX_DESCRIPTION, MAX_NOTE, MAX_OVERVIEW, Heading, Notes
from artificer.artifacts.tool import artifact_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

FORMAT = "artificer/spec/1"
MIN_PHASES = 3
MAX_PHASES = 7
MAX_FILES = 40


class PhaseRef(Value):
    """One phase of a spec: what its phase run will be given."""

    name: KebabName
    title: Heading
    description: Annotated[str, text_field(MAX_DESCRIPTION, "What this phase brings about.")]
    files: Annotated[
        tuple[
            Annotated[
                str, text_field(MAX_PATH, "Path from the project's folder; a folder ends in /.")
            ],
            ...,
        ],
        Meta(max_length=MAX_FILES, description="What the phase will create, change or delete."),
    ] = ()
    validation: Annotated[
        str, Meta(max_length=MAX_NOTE, description="How to tell that the phase is done.")
    ] = ""


class SpecInput(Value):
    """The arguments of ``create_spec``."""

    name: KebabName
    title: Heading
    overview: Annotated[str, text_field(MAX_OVERVIEW, "What the spec brings about, in detail.")]
    phases: Annotated[
        tuple[PhaseRef, ...],
        Meta(
            min_length=MIN_PHASES,
            max_length=MAX_PHASES,
            description="Three to seven phases, in the order in which they are done.",
        ),
    ]
    acceptance_criteria: Annotated[
        Notes, Meta(description="What has to hold when the spec is done.")
    ] = ()
    test_strategy: Annotated[
        str, Meta(max_length=MAX_DESCRIPTION, description="How the spec is tested.")
    ] = ""


class Spec(SpecInput, tag_field="format"):
    """A spec in its stored form, with its format and every default."""

    format: ClassVar[Literal["artificer/spec/1"]] = "artificer/spec/1"
    tag_is_content = True


NAME = "create_spec"


@cache
def tool() -> ToolDefinition:
    """Return the definition of the tool, whose schema is made when it is first offered."""
    return artifact_tool(
        NAME,
        "Set down the spec: the phases that will be made from it, in order."
        " This is the only way to deliver a spec; a later call replaces an earlier one.",
        SpecInput,
    )


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a spec that its schema cannot express."""
    for member in ("title", "overview", "test_strategy"):
        yield from blank(text(payload, member), f"/{member}")
    yield from name_problems([text(payload, "name")], ["/name"], "name")
    for member in ("title", "description", "validation"):
        yield from blanks(payload, "phases", member)
    for index, criterion in enumerate(items(payload, "acceptance_criteria")):
        yield from blank(criterion, f"/acceptance_criteria/{index}")
    phases = items(payload, "phases")
    names = [text(phase, "name") for phase in phases]
    pointers = [f"/phases/{index}/name" for index in range(len(phases))]
    yield from name_problems(list(names), pointers, "phase name")
    for index, phase in enumerate(phases):
        for place, path in enumerate(items(phase, "files")):
            yield from path_problems(path, f"/phases/{index}/files/{place}", folders=True)
