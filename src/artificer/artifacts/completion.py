"""Completions: a code run's report of its work. Commits and exit codes prove or refute it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, ClassVar, Literal

from artificer.artifacts.fields import blank, text, text_field
from artificer.artifacts.plan import MAX_OVERVIEW
from artificer.artifacts.tool import artifact_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

FORMAT = "artificer/completion/1"


class CompletionInput(Value):
    """The arguments of ``complete_task``.

    ``nothing_to_do`` is stated, never inferred from an empty change, and it is reviewed.
    """

    summary: Annotated[
        str, text_field(MAX_OVERVIEW, "What you changed, or why nothing had to be changed.")
    ]
    nothing_to_do: Annotated[
        bool,
        Meta(
            description="true only if all that the phase asks for was there before you began, and"
            " you changed no file."
        ),
    ] = False


class Completion(CompletionInput, tag_field="format"):
    """A completion in its stored form."""

    format: ClassVar[Literal["artificer/completion/1"]] = "artificer/completion/1"
    tag_is_content = True


NAME = "complete_task"


@cache
def tool() -> ToolDefinition:
    """Return the definition of the tool, whose schema is made when it is first offered."""
    return artifact_tool(
        NAME,
        "Say that the phase is done, after its validation command has passed here."
        " This is the only way to finish; a later call replaces an earlier one.",
        CompletionInput,
    )


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a completion that its schema cannot express."""
    yield from blank(text(payload, "summary"), "/summary")
