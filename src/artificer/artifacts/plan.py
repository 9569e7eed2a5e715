"""Plans: the specs that a piece of software consists of, and their dependencies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, ClassVar, Literal

from artificer.artifacts.dependencies import Graph, graph_problems
from artificer.artifacts.fields import MAX_TITLE, blank, blanks, items, repeats, text, text_field
from artificer.artifacts.names import KebabName, name_problems
from artificer.artifacts.tool import artifact_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

FORMAT = "artificer/plan/1"
MAX_SPECS = 10
MAX_CONSTANTS = 32
MAX_NOTES = 32
MAX_OVERVIEW = 12_000
MAX_DESCRIPTION = 4_000
MAX_NOTE = 1_000
MAX_VALUE = 500

Heading = Annotated[str, text_field(MAX_TITLE, "Its title, for people.")]
NoteText = Annotated[str, text_field(MAX_NOTE, "One of them, in a sentence.")]
Notes = Annotated[tuple[NoteText, ...], Meta(max_length=MAX_NOTES)]


class Constant(Value):
    """A name, path, variable or format that everything below the plan has to write the same."""

    name: Annotated[str, text_field(100, "What it is called, such as DATABASE_PATH.")]
    value: Annotated[str, text_field(MAX_VALUE, "Its value, to be used exactly as it is.")]
    purpose: Annotated[str, Meta(max_length=MAX_NOTE, description="What it is for.")] = ""


class SpecRef(Value):
    """One spec of a plan: what its spec run will be given."""

    name: KebabName
    title: Heading
    description: Annotated[str, text_field(MAX_DESCRIPTION, "What this spec brings about.")]
    dependencies: Annotated[
        tuple[Annotated[str, text_field(100, "Name of a spec of this plan.")], ...],
        Meta(
            max_length=MAX_SPECS,
            description="Names of the specs that have to be done before this one.",
        ),
    ] = ()


class PlanInput(Value):
    """The arguments of ``create_plan``."""

    title: Heading
    overview: Annotated[str, text_field(MAX_OVERVIEW, "What the plan brings about, and how.")]
    specs: Annotated[
        tuple[SpecRef, ...],
        Meta(min_length=1, max_length=MAX_SPECS, description="The specs it is made of."),
    ]
    non_goals: Annotated[Notes, Meta(description="What the plan leaves out on purpose.")] = ()
    risks: Annotated[Notes, Meta(description="What could go wrong, and what is done then.")] = ()
    constants: Annotated[
        tuple[Constant, ...],
        Meta(
            max_length=MAX_CONSTANTS,
            description="Names, paths, environment variables and formats that more than one spec"
            " uses: fixed here once.",
        ),
    ] = ()

    @property
    def graph(self) -> Graph:
        """The dependencies of each spec, by name."""
        return {spec.name: spec.dependencies for spec in self.specs}


class Plan(PlanInput, tag_field="format"):
    """A plan in its stored form, with its format and every default."""

    format: ClassVar[Literal["artificer/plan/1"]] = "artificer/plan/1"
    tag_is_content = True


NAME = "create_plan"


@cache
def tool() -> ToolDefinition:
    """Return the definition of the tool, whose schema is made when it is first offered."""
    return artifact_tool(
        NAME,
        "Set down the plan: the specs that will be made from it, and which of them depend on which."
        " This is the only way to deliver a plan; a later call replaces an earlier one.",
        PlanInput,
    )


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a plan that its schema cannot express."""
    yield from blank(text(payload, "title"), "/title")
    yield from blank(text(payload, "overview"), "/overview")
    for member in ("title", "description"):
        yield from blanks(payload, "specs", member)
    for member in ("name", "value"):
        yield from blanks(payload, "constants", member)
    for member in ("non_goals", "risks"):
        for index, note in enumerate(items(payload, member)):
            yield from blank(note, f"/{member}/{index}")
    specs = items(payload, "specs")
    names = [text(spec, "name") for spec in specs]
    pointers = [f"/specs/{index}/name" for index in range(len(specs))]
    yield from name_problems(list(names), pointers, "spec name")
    yield from graph_problems(names, [items(spec, "dependencies") for spec in specs], "/specs")
    constants = [text(constant, "name") for constant in items(payload, "constants")]
    at = [f"/constants/{index}/name" for index in range(len(constants))]
    yield from repeats(list(constants), at, "constant", key=str.strip, rule="it has one value")
