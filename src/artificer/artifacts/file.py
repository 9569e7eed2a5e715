"""Files: long texts that a reader downloads, such as a specification or a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from artificer.artifacts.fields import blank, text
from artificer.artifacts.names import is_device
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.tool import flat_tool
from artificer.values.base import JsonObject, Meta, Problem, Value

MAX_FILES = 24
MAX_NAME = 160
MAX_SEGMENT = 48
MAX_SEGMENTS = 5
MAX_CONTENT = 48_000

_CHARS = "[A-Za-z0-9._-]"
_FIRST = "[A-Za-z0-9_-]"
NAME_PATTERN = (
    rf"^({_FIRST}{_CHARS}{{0,{MAX_SEGMENT - 1}}}/){{0,{MAX_SEGMENTS - 1}}}"
    rf"{_FIRST}({_CHARS}{{0,{MAX_SEGMENT - 4}}}\.[mM][dD]"
    rf"|{_CHARS}{{0,{MAX_SEGMENT - 5}}}\.[tT][xX][tT])$"
)
"""At most five segments of at most 48 characters; the last ends in ``.md`` or ``.txt``.

A segment does not begin with a dot: ``..`` would leave the folder and ``.name`` would be a
hidden file. Names are stored unchanged or refused, so that a citation always matches.
"""


class File(Value):
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


CREATE_FILE = flat_tool(
    "create_file",
    "Make a text file that the reader can open and download: a specification, a prompt, anything"
    " long. For short enumerations make a list, for things to tick off a checklist."
    " Cite it in the answer as {{artifact:file:NAME}}, with exactly this name.",
    File,
)


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
    yield from _not_on_windows(name)
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


def _not_on_windows(name: str) -> Iterator[Problem]:
    """Yield why Windows, where a reader may save the file, would refuse its name."""
    parts = name.split("/")
    if any(map(is_device, parts)):
        fault = "has a part that is a device on Windows"
    elif any(part.endswith(".") for part in parts):
        fault = "has a folder that ends in a dot, which Windows leaves out"
    else:
        return
    message = f"{fault}: use this name instead"
    yield Problem(pointer="/name", message=message, limit=canonical_name(name), actual=name)


def canonical_name(name: str) -> str:
    """Return the nearest acceptable name, or "" if nothing of ``name`` can be kept."""
    parts = [re.sub(r"[^A-Za-z0-9._-]+", "_", part) for part in name.replace("\\", "/").split("/")]
    kept = [_portable(cut) for part in parts if (cut := part.strip("_").strip(".").strip("_."))]
    if not kept:
        return ""
    *folders, leaf = kept
    stem, dot, ending = leaf.rpartition(".")
    if not dot or ending.lower() not in ("md", "txt"):
        stem, ending = leaf, "md"
    leaf = f"{stem[: MAX_SEGMENT - len(ending) - 1]}.{ending}"
    segments = [folder[:MAX_SEGMENT].rstrip(".") for folder in folders[: MAX_SEGMENTS - 1]]
    while segments and len("/".join([*segments, leaf])) > MAX_NAME:
        segments.pop()
    return "/".join([*segments, leaf])


def _portable(part: str) -> str:
    """Return the part of a path, with a digit appended if it is a device name on Windows."""
    stem, dot, rest = part.partition(".")
    return f"{stem}-1{dot}{rest}" if is_device(part) else part


KIND = PayloadKind(
    tools=(CREATE_FILE,),
    limit=MAX_FILES,
    problems=lambda _, payload, made: problems(payload, made),
    load=lambda _, payload: File.from_json(payload),
    size=lambda file: count(len(file.content), "character"),
)
