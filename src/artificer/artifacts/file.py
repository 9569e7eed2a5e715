"""Files: long texts that a reader downloads, such as a specification or a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from artificer.artifacts.fields import blank, text
from artificer.artifacts.file_name import MAX_NAME, NAME_PATTERN, canonical_name, not_on_windows
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.tool import flat_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

MAX_FILES = 24
MAX_CONTENT = 48_000


class TextFile(Value):
    """A text file. ``name`` is its path and its id."""

    name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_NAME,
            pattern=NAME_PATTERN,
            description="Path ending in .md or .txt, folders allowed, such as specs/plan.md.",
        ),
    ]
    content: Annotated[
        str, Meta(min_length=1, max_length=MAX_CONTENT, description="The whole text of the file.")
    ]


def tools() -> tuple[ToolDefinition, ...]:
    """Return the tool that makes one."""
    tool = flat_tool(
        "create_file",
        "Make a text file that the reader can open and download: a specification, a prompt,"
        " anything long. For short enumerations make a list, for things to tick off a checklist."
        " Cite it in the answer as {{artifact:file:NAME}}, with exactly this name.",
        TextFile,
    )
    return (tool,)


def problems(payload: JsonObject, made: tuple[ArtifactRef, ...]) -> Iterator[Problem]:
    """Yield the problems of a file that its schema cannot express."""
    yield from blank(text(payload, "content"), "/content")
    name = text(payload, "name")
    if name is None:
        return
    if not re.fullmatch(NAME_PATTERN[1:-1], name) or len(name) > MAX_NAME:
        suggestion = canonical_name(name)
        if suggestion:
            yield Problem(pointer="/name", message="use this name instead", limit=suggestion)
        return
    yield from not_on_windows(name)
    lower = name.lower()
    for ref in made:
        other = ref.id.lower()
        if ref.kind == "file" and (lower + "/").startswith(other + "/") != (
            (other + "/").startswith(lower + "/")
        ):
            yield Problem(
                pointer="/name",
                message=f"{ref.id!r} exists: one name cannot be both a file and a folder",
                actual=name,
            )


KIND = PayloadKind(
    tools=tools,
    limit=MAX_FILES,
    problems=lambda _, payload, made: problems(payload, made),
    load=lambda _, payload: TextFile.from_json(payload),
    size=lambda file: count(len(file.content), "character"),
)
