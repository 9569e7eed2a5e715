"""Completions: what a code run says it has done. Commits and exit codes say whether it is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from artificer.artifacts.fields import blank, text, text_field
from artificer.artifacts.plan import MAX_OVERVIEW
from artificer.artifacts.tool import artifact_tool
from artificer.values.base import JsonObject, Problem, Value

FORMAT = "artificer/completion/1"


class CompletionInput(Value):
    """What ``complete_task`` takes.

    That nothing had to be done is said, never guessed from an empty change; it is reviewed.
    """

    summary: Annotated[
        str, text_field(MAX_OVERVIEW, "What you changed, or why nothing had to be changed.")
    ]
    nothing_to_do: Annotated[
        bool,
        Field(
            description="true only if all that the phase asks for was there before you began, and"
            " you changed no file."
        ),
    ] = False


class Completion(CompletionInput):
    """A completion as it is stored."""

    format: Literal["artificer/completion/1"]


COMPLETE_TASK = artifact_tool(
    "complete_task",
    "Say that the phase is done, after its validation command has passed here."
    " This is the only way to finish; a later call replaces an earlier one.",
    CompletionInput,
)


def problems(payload: JsonObject) -> Iterator[Problem]:
    """What the schema cannot say of a completion."""
    yield from blank(text(payload, "summary"), "/summary")
