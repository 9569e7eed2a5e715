"""Endpoints for looking back: the state at a record, and the origin of each part of a report."""

from __future__ import annotations

from msgspec import Struct

from artificer.artifacts.ref import ArtifactRef
from artificer.errors import NotFoundError
from artificer.runs import History
from artificer.studio.api.declared import ApiRequest
from artificer.studio.moments import moment
from artificer.studio.provenance import CallTrace, artifact_trace, sentences, traces

MAX_ARTIFACTS = 100

MAX_DIGITS = 12


class FactAnswer(Struct, frozen=True):
    """A fact of a run's state; ``changed`` says that this record changed it."""

    name: str
    value: str
    changed: bool


class RecordAnswer(Struct, frozen=True):
    """A record with the state after it. ``body`` is its JSON, shortened; ``at`` is 0 for an intent.

    ``follows`` is the digest of the record before it, ``digest`` its own, where another follows.
    """

    record: int
    records: int
    kind: str
    name: str
    actor: str
    at: int
    body: str
    follows: str
    digest: str
    state: str
    facts: tuple[FactAnswer, ...]


class CallOrigin(Struct, frozen=True):
    """A call: the records of the reply that wrote it, of its intent and of its receipt."""

    tool: str
    label: str
    reply: int | None
    intent: int
    receipt: int
    status: str


class ArtifactOrigin(Struct, frozen=True):
    """An artifact, the call that made it, and the one whose result its numbers come from."""

    id: str
    kind: str
    sentence: str
    label: str
    made: CallOrigin | None
    source: CallOrigin | None


class SentenceOrigin(Struct, frozen=True):
    """A paragraph of a report, the record of the reply that contained it, and what it cites."""

    text: str
    reply: int | None
    cites: tuple[str, ...]


class SourcesAnswer(Struct, frozen=True):
    """The origin of a report's artifacts and paragraphs."""

    artifacts: tuple[ArtifactOrigin, ...]
    sentences: tuple[SentenceOrigin, ...]


async def show_record(request: ApiRequest) -> RecordAnswer:
    """Show one record of a run, with the state after it."""
    lines, text = (await _history(request)).lines, request.named("record")
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    if not is_number or not 1 <= (seq := int(text)) <= len(lines):
        raise NotFoundError(f"The run has no record {text}; it has {len(lines)}.")
    found = moment(lines, seq)
    entry = found.entry
    return RecordAnswer(
        record=seq,
        records=len(lines),
        kind=entry.kind,
        name=entry.name,
        actor=entry.actor,
        at=entry.at,
        body=found.body,
        follows=found.prev,
        digest=found.hash,
        state=found.state,
        facts=tuple(FactAnswer(fact.name, fact.value, fact.changed) for fact in found.facts),
    )


async def show_sources(request: ApiRequest) -> SourcesAnswer:
    """Show the origin of every artifact and paragraph of a report."""
    history = await _history(request)
    run = history.run
    found, made = traces(history.lines, run.state.sources), run.artifacts
    payloads = {one.digest: one.payload for one in made.values()}
    delivered = run.deliverable
    refs = run.state.artifacts if delivered is None else delivered.artifacts

    def origin(ref: ArtifactRef) -> ArtifactOrigin:
        trace = artifact_trace(found, ref, payloads.get(ref.payload, {}))
        call, source = _call(trace.made), _call(trace.source)
        return ArtifactOrigin(ref.id, ref.kind, trace.sentence, trace.label, call, source)

    stated = sentences(found, run.text) if run.state.build is None else ()
    return SourcesAnswer(
        tuple(map(origin, refs[:MAX_ARTIFACTS])),
        tuple(
            SentenceOrigin(one.text, one.response and one.response.seq, one.cites) for one in stated
        ),
    )


async def _history(request: ApiRequest) -> History:
    return await request.world.archive.history(request.named("run"))


def _call(trace: CallTrace | None) -> CallOrigin | None:
    if trace is None:
        return None
    reply = trace.response and trace.response.seq
    return CallOrigin(trace.tool, trace.label, reply, trace.intent, trace.receipt, trace.status)
