"""Phases: the tasks of one code run and the command that validates them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, ClassVar, Literal

from artificer.artifacts.command_line import command_field, command_problems
from artificer.artifacts.fields import blank, blanks, items, text, text_field
from artificer.artifacts.json_schema import in_schema
from artificer.artifacts.names import MAX_PATH, KebabName, name_problems, path_problems
from artificer.artifacts.plan import MAX_DESCRIPTION, MAX_OVERVIEW, Heading, Notes
from artificer.artifacts.tool import artifact_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

FORMAT = "artificer/phase/1"
MAX_TASKS = 40

TaskAction = Annotated[
    Literal["create", "modify", "delete"] | None,
    in_schema({"type": "string", "enum": ["create", "modify", "delete"]}),
]


class Task(Value):
    """One thing that the code run has to do."""

    description: Annotated[str, text_field(MAX_DESCRIPTION, "What has to be done.")]
    file: Annotated[
        str,
        Meta(max_length=MAX_PATH, description="The file it is about, from the project's folder."),
    ] = ""
    action: Annotated[TaskAction, Meta(description="What becomes of that file.")] = None


class PhaseInput(Value):
    """The arguments of ``create_phase``."""

    name: KebabName
    title: Heading
    objective: Annotated[str, text_field(MAX_OVERVIEW, "What the phase brings about.")]
    tasks: Annotated[
        tuple[Task, ...],
        Meta(min_length=1, max_length=MAX_TASKS, description="What the code run does, in order."),
    ]
    validation_command: Annotated[
        str,
        command_field(
            "The command whose exit code says whether the phase is done, such as cargo test."
            " One program with its arguments: there is no shell."
        ),
    ]
    success_criteria: Annotated[
        Notes, Meta(description="What has to hold when the phase is done.")
    ] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that its tasks name, without repeats, in order."""
        return tuple(dict.fromkeys(task.file for task in self.tasks if task.file))


class Phase(PhaseInput, tag_field="format"):
    """A phase in its stored form, with its format and every default."""

    format: ClassVar[Literal["artificer/phase/1"]] = "artificer/phase/1"
    tag_is_content = True


NAME = "create_phase"


@cache
def tool() -> ToolDefinition:
    """Return the definition of the tool, whose schema is made when it is first offered."""
    return artifact_tool(
        NAME,
        "Set down the phase: its tasks, and the command that validates them."
        " This is the only way to deliver a phase; a later call replaces an earlier one.",
        PhaseInput,
    )


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a phase that its schema cannot express."""
    for member in ("title", "objective"):
        yield from blank(text(payload, member), f"/{member}")
    yield from name_problems([text(payload, "name")], ["/name"], "name")
    yield from blanks(payload, "tasks", "description")
    yield from command_problems(text(payload, "validation_command"), "/validation_command")
    for index, criterion in enumerate(items(payload, "success_criteria")):
        yield from blank(criterion, f"/success_criteria/{index}")
    for index, task in enumerate(items(payload, "tasks")):
        yield from path_problems(text(task, "file"), f"/tasks/{index}/file")
