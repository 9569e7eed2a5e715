"""The origin of each part of a report: binding, call, response and receipt, by their records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from artificer.artifacts import placeholder
from artificer.artifacts.binding.source import read_source
from artificer.artifacts.binding.source_note import source_note_of
from artificer.artifacts.binding.sources import cited_label
from artificer.artifacts.build_catalog import is_build_tool
from artificer.artifacts.ref import ArtifactRef
from artificer.core import events as ev
from artificer.core.intents import CallTool
from artificer.core.record import EventLine, Line
from artificer.core.sources import CallSource
from artificer.render.language import language_of
from artificer.values.base import JsonObject
from artificer.values.blocks import TextBlock
from artificer.values.pointer import escaped
from artificer.values.text import clip

MAX_SENTENCES = 200
MAX_TEXT = 2_000
MAX_PLACES = 20
MAX_VISITED = 100_000
"""Values of a result that are compared with a cell."""


class Response(NamedTuple):
    """A reply of a model: its record, and the digest of the provider's own answer."""

    seq: int
    model: str
    response_id: str
    raw: str


class CallTrace(NamedTuple):
    """A call: the reply that wrote it, the intent that performed it, and its receipt.

    A number of 0 is that of a record that is not there.
    """

    tool: str
    arguments: str
    label: str
    response: Response | None
    intent: int
    receipt: int
    status: str
    duration_ms: int
    content: str
    data: str


@dataclass(frozen=True)
class ArtifactTrace:
    """An artifact: the call that made it, and the result that its numbers come from.

    ``sentence`` is the one that stands below it; ``label`` is what it cites.
    """

    ref: ArtifactRef
    sentence: str
    label: str
    made: CallTrace | None
    source: CallTrace | None


class Sentence(NamedTuple):
    """A paragraph of the narrative, the reply that it is from, and the artifacts it cites."""

    text: str
    response: Response | None
    cites: tuple[str, ...]


class ValuePlace(NamedTuple):
    """A place in a recorded result that holds the same value as a cell."""

    label: str
    receipt: int
    pointer: str


@dataclass
class Traces:
    """All calls and replies of a run, by what refers to them."""

    calls: dict[str, CallTrace] = field(default_factory=dict)
    replies: list[tuple[Response, str]] = field(default_factory=list)
    made: dict[tuple[str, str], str] = field(default_factory=dict)

    def of_label(self, label: str) -> CallTrace | None:
        """Return the call with a label."""
        return next((c for c in self.calls.values() if label and c.label == label), None)


def traces(lines: Sequence[Line], sources: Sequence[CallSource]) -> Traces:
    """Collect the calls and replies of a run."""
    labels = {source.call_id: source.label for source in sources}
    found, written = Traces(), dict[str, Response]()
    intents: dict[int, tuple[int, CallTool]] = {}
    for line in lines:
        if not isinstance(line, EventLine):
            if isinstance(line.intent, CallTool):
                intents[line.intent.n] = line.seq, line.intent
            continue
        match line.event:
            case ev.ModelResponded() as reply:
                response = Response(line.seq, reply.model, reply.response_id, reply.raw or "")
                text = "\n\n".join(b.text for b in reply.blocks if isinstance(b, TextBlock))
                found.replies.append((response, text))
            case ev.CallsJudged(verdicts=verdicts) if found.replies:
                # a call's id is that of its verdict: a model may write one twice, or none
                written |= {verdict.call_id: found.replies[-1][0] for verdict in verdicts}
            case ev.ToolReturned() as returned if returned.intent in intents:
                at, call = intents[returned.intent]
                found.calls[call.call_id] = CallTrace(
                    call.tool,
                    clip(call.arguments, MAX_TEXT),
                    labels.get(call.call_id, ""),
                    written.get(call.call_id),
                    at,
                    line.seq,
                    returned.status,
                    returned.duration_ms,
                    clip(returned.content, MAX_TEXT),
                    returned.data or "",
                )
                if returned.artifact is not None:
                    key = returned.artifact.kind, returned.artifact.id
                    found.made[key] = call.call_id
    return found


def artifact_trace(found: Traces, ref: ArtifactRef, payload: JsonObject) -> ArtifactTrace:
    """Return where an artifact comes from."""
    label = cited_label(payload) or ""
    words = language_of(ref.title).words
    sentence = "" if is_build_tool(ref.tool) else source_note_of(ref.tool, payload, words)
    made = found.calls.get(found.made.get((ref.kind, ref.id), ""))
    return ArtifactTrace(ref, sentence, label, made, found.of_label(label))


def sentences(found: Traces, narrative: str) -> Iterator[Sentence]:
    """Yield the paragraphs of a narrative, each with the first reply that has it.

    One that only cites an artifact is left out: the artifact has its own origin.
    """
    for text in re.split(r"\n\s*\n", narrative)[:MAX_SENTENCES]:
        if not (paragraph := text.strip()):
            continue
        found_here = placeholder.find(paragraph)
        if not _words_besides(paragraph, found_here):
            continue
        reply = next((r for r, words in found.replies if paragraph in words), None)
        cites = tuple(dict.fromkeys(f"{p.kind}:{p.id}" for p in found_here))
        yield Sentence(clip(paragraph, MAX_TEXT), reply, cites)


def _words_besides(paragraph: str, cited: Sequence[placeholder.Placeholder]) -> bool:
    """Whether a paragraph says anything besides what it cites."""
    ends = [0, *(one.end for one in cited)]
    begins = [*(one.start for one in cited), len(paragraph)]
    between = (paragraph[end:begin] for end, begin in zip(ends, begins, strict=True))
    return any(character.isalnum() for text in between for character in text)


def same_value(found: Traces, data: Mapping[str, bytes], cell: object) -> list[ValuePlace]:
    """Return the places in recorded results whose value is that of a cell.

    It is not a proof that the cell was copied from there: only a binding is.
    """
    wanted, places = _plain(cell), list[ValuePlace]()
    for label, body in data.items():
        source, call = read_source(body), found.of_label(label)
        if isinstance(source, str) or call is None:
            continue
        for pointer, value in _walk(source.value):
            if _plain(value) == wanted:
                places.append(ValuePlace(label, call.receipt, pointer))
                if len(places) == MAX_PLACES:
                    return places
    return places


def _plain(value: object) -> str:
    """A value as it is compared: 7341 and 7341.0 are the same number."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _walk(root: Any) -> Iterator[tuple[str, Any]]:
    waiting, visited = [("", root)], 0
    while waiting and visited < MAX_VISITED:
        pointer, value = waiting.pop()
        visited += 1
        if isinstance(value, dict):
            waiting += [(f"{pointer}/{escaped(name)}", v) for name, v in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{pointer}/{n}", v) for n, v in enumerate(value[:MAX_VISITED])]
        elif value is not None and not isinstance(value, bool):
            yield pointer, value
