"""Bindings of a recorded run: the data they cite, and whether payloads still follow from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from artificer.artifacts import catalog
from artificer.artifacts.binding import bind, bindable, offer
from artificer.artifacts.binding.sources import Sources
from artificer.artifacts.deliverable import Deliverable
from artificer.artifacts.ref import ArtifactRef
from artificer.core import artifact_calls
from artificer.core import events as ev
from artificer.core.record import EventLine, Line
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.core.verdict import Verdict
from artificer.errors import ArtificerError
from artificer.ports import BlobStore
from artificer.runtime.cited_data import read_cited
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolUseBlock
from artificer.values.canon import canonical, digest_of
from artificer.values.strict_json import parse_object

_RUNS = ("allow", "ask")


def binding_in(verdict: Verdict) -> tuple[str, str] | None:
    """Return the artifact of a call that was let through, and the label of what it is bound to."""
    if verdict.verdict not in _RUNS or not bindable.is_bindable(verdict.tool):
        return None
    found = _of(verdict, "")
    return (found.artifact, found.label) if found.label else None


class Unfaithful(NamedTuple):
    """An artifact that does not follow from the data it says it is bound to.

    ``pointer`` is the place of the binding in its stored payload.
    """

    artifact: str
    pointer: str
    label: str
    why: str

    def sentence(self) -> str:
        """Return a sentence without its end."""
        return f"the payload of {self.artifact} (data: {self.label}) {self.why}"


def unfaithful(state: RunState, event: ev.Event, blobs: BlobStore) -> Iterator[Unfaithful]:
    """Return each artifact of an event that does not follow from the data it is bound to.

    ``state`` is the one before the event.
    """
    check = _CHECKS.get(type(event))
    return iter(()) if check is None or state.spec is None else check(state, event, blobs)


def _in_verdicts(state: RunState, event: ev.CallsJudged, blobs: BlobStore) -> Iterator[Unfaithful]:
    """Yield the bound artifacts whose verdicts do not give what their data does."""
    for verdict in event.verdicts:
        if _is_bound(state, verdict):
            calls = state.history[-1].calls if state.history else ()
            call = next((call for call in calls if call.id == verdict.call_id), None)
            if call is None or not _follows(state, call, verdict, blobs):
                yield _of(verdict, "does not follow from the data that it is bound to")


def _in_result(state: RunState, event: ev.ToolReturned, blobs: BlobStore) -> Iterator[Unfaithful]:
    """Yield the artifact that a call made, where it is not what the verdict let through."""
    if event.artifact is None:
        return
    pending = next((p.call_id for p in state.pending if p.n == event.intent), None)
    judged = next((c.verdict for c in state.calls if c.id == pending), None)
    arguments = judged.arguments if judged else None
    if arguments is not None and event.artifact.payload == digest_of(arguments.encode()):
        return
    if judged is not None and _is_bound(state, judged):
        yield _of(judged, "is not what its binding gave")
    elif found := _claim(event.artifact, blobs):
        yield found


def _in_deliverable(
    state: RunState, event: ev.RunFinished, blobs: BlobStore
) -> Iterator[Unfaithful]:
    """Yield the bound artifacts of a deliverable that the run has not made."""
    made = {ref.payload for ref in state.artifacts}
    try:
        refs = Deliverable.read(blobs.get(event.deliverable)).artifacts
    except (ArtificerError, ValueError):
        return  # a blob that is gone or changed is its own problem
    found = (_claim(ref, blobs) for ref in refs if ref.payload not in made)
    yield from (claim for claim in found if claim)


_CHECKS: dict[type[ev.Event], Callable[[RunState, Any, BlobStore], Iterator[Unfaithful]]] = {
    ev.CallsJudged: _in_verdicts,
    ev.ToolReturned: _in_result,
    ev.RunFinished: _in_deliverable,
}


def _claim(ref: ArtifactRef, blobs: BlobStore) -> Unfaithful | None:
    """Return an artifact that says it is bound, though no verdict has bound it."""
    if not bindable.is_bindable(ref.tool):
        return None
    try:
        payload = _object(blobs.get(ref.payload))
    except ArtificerError:
        return None
    if not _has_data(ref.tool, payload):
        return None
    return _named(ref.tool, payload, "says that it is bound, and no verdict has bound it")


def unfaithful_lines(lines: Sequence[Line], blobs: BlobStore) -> Iterator[tuple[int, Unfaithful]]:
    """Yield what is wrong in a whole run, with the number of its record.

    A run that made nothing which could be bound costs nothing.
    """
    made = any(
        isinstance(line, EventLine)
        and isinstance(line.event, ev.CallsJudged)
        and any(bindable.is_bindable(verdict.tool) for verdict in line.event.verdicts)
        for line in lines
    )
    state = RunState()
    for line in lines if made else ():
        if isinstance(line, EventLine):
            for found in unfaithful(state, line.event, blobs):
                yield line.seq, found
            state, _ = reduce(state, line.event)


def _is_bound(state: RunState, verdict: Verdict) -> bool:
    """Whether a verdict let a call through whose artifact says that it is bound."""
    if not bindable.is_bindable(verdict.tool) or verdict.verdict not in _RUNS:
        return False
    tool = state.run_spec.tool(verdict.tool)
    if tool is None or tool.backend != "artifact" or verdict.arguments is None:
        return False
    return _has_data(verdict.tool, _object(verdict.arguments))


def _has_data(tool: str, arguments: JsonObject) -> bool:
    """Whether a payload says that it is bound. A cited value has no other form."""
    return tool == bindable.CITING or "data" in bind.inner(tool, arguments)


def _follows(state: RunState, call: ToolUseBlock, verdict: Verdict, blobs: BlobStore) -> bool:
    tool = state.run_spec.tool(verdict.tool)
    arguments = parse_object(call.arguments)
    if tool is None or not isinstance(arguments, dict):
        return False
    arguments = artifact_calls.normalised(tool, arguments)
    if not bind.gives_data(tool, arguments):
        return False
    labels = tuple(source.label for source in state.sources if source.digest is not None)
    sources = Sources(labels, read_cited([call], state, blobs), frozenset())
    found = bind.bind(tool, arguments, sources)
    if not isinstance(found, bind.BoundCall):
        return False
    return canonical(found.arguments).decode() == verdict.arguments


def _of(verdict: Verdict, why: str) -> Unfaithful:
    return _named(verdict.tool, _object(verdict.arguments or ""), why)


def _named(tool: str, arguments: JsonObject, why: str) -> Unfaithful:
    kind, name, _ = catalog.identity(tool, arguments)
    data = bind.inner(tool, arguments).get("data")
    label = str(data.get("call", "")) if isinstance(data, dict) else ""
    return Unfaithful(f"{kind}:{name}", offer.pointer(tool), label, why)


def _object(text: str | bytes) -> JsonObject:
    """Return a JSON object, and an empty one for anything else: someone may have changed it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
