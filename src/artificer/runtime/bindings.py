"""Bindings of a recorded run: the data they cite, and whether payloads still follow from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from artificer.artifacts import catalog
from artificer.artifacts.binding import bind, offer
from artificer.artifacts.binding.sources import Sources
from artificer.core import events as ev
from artificer.core.intents import Intent, JudgeCalls
from artificer.core.record import EventLine, Line
from artificer.core.sources import cited_in, knows_sources
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.core.verdict import Verdict
from artificer.errors import NotFoundError
from artificer.ports import BlobStore
from artificer.values.blocks import ToolUseBlock
from artificer.values.canon import canonical, digest_of
from artificer.values.strict_json import parse_object

_RUNS = ("allow", "ask")


def data_for(state: RunState, intent: Intent, blobs: BlobStore) -> Mapping[str, bytes]:
    """Return the data that the calls to be judged cite, by label; none for any other intent.

    Data that is gone is left out, and the call that cites it is refused.

    Raises:
        TamperedError: a blob is not what was written.
    """
    if not isinstance(intent, JudgeCalls) or not state.sources:
        return {}
    return _read(state.history[-1].calls, state, blobs)


def _read(calls: Sequence[ToolUseBlock], state: RunState, blobs: BlobStore) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for label, digest in cited_in(calls, state.sources).items():
        try:
            found[label] = blobs.get(digest)
        except NotFoundError:
            continue
    return found


def unfaithful(state: RunState, event: ev.Event, blobs: BlobStore) -> Iterator[str]:
    """Yield a sentence for each artifact of an event that does not follow from the data it cites.

    ``state`` is the one before the event.
    """
    if state.spec is None or not knows_sources(state.spec):
        return
    if isinstance(event, ev.CallsJudged):
        calls = {call.id: call for call in state.history[-1].calls}
        for verdict in event.verdicts:
            call = calls.get(verdict.call_id)
            if call and _is_bound(verdict) and not _follows(state, call, verdict, blobs):
                yield f"{_subject(verdict)} does not follow from the data that it is bound to"
    elif isinstance(event, ev.ToolReturned) and event.artifact is not None:
        pending = next((p.call_id for p in state.pending if p.n == event.intent), None)
        judged = next((c.verdict for c in state.calls if c.id == pending), None)
        if judged is None or judged.arguments is None or not _is_bound(judged):
            return
        if event.artifact.payload != digest_of(judged.arguments.encode()):
            yield f"{_subject(judged)} is not what its binding gave"


def unfaithful_lines(lines: Sequence[Line], blobs: BlobStore) -> Iterator[str]:
    """Yield the sentences about a whole run. A run without bindings costs nothing."""
    bound = any(
        isinstance(line, EventLine)
        and isinstance(line.event, ev.CallsJudged)
        and any(map(_is_bound, line.event.verdicts))
        for line in lines
    )
    state = RunState()
    for line in lines if bound else ():
        if isinstance(line, EventLine):
            for said in unfaithful(state, line.event, blobs):
                yield f"record {line.seq}: {said}."
            state, _ = reduce(state, line.event)


def _is_bound(verdict: Verdict) -> bool:
    return verdict.verdict in _RUNS and bool(_data(verdict))


def _data(verdict: Verdict) -> object:
    """The recorded binding of a verdict, if it has one."""
    if verdict.arguments is None or not offer.is_bindable(verdict.tool):
        return None
    if '"data":{' not in verdict.arguments:
        return None
    return bind.inner(verdict.tool, json.loads(verdict.arguments)).get("data")


def _follows(state: RunState, call: ToolUseBlock, verdict: Verdict, blobs: BlobStore) -> bool:
    tool = state.run_spec.tools().get(verdict.tool)
    arguments = parse_object(call.arguments)
    if tool is None or not isinstance(arguments, dict):
        return False
    arguments = catalog.normalised(tool, arguments)
    if not bind.gives_data(tool, arguments):
        return False
    labels = tuple(source.label for source in state.sources if source.digest is not None)
    found = bind.bind(tool, arguments, Sources(labels, _read([call], state, blobs), frozenset()))
    if not isinstance(found, bind.BoundCall):
        return False
    return canonical(found.arguments).decode() == verdict.arguments


def _subject(verdict: Verdict) -> str:
    arguments = json.loads(verdict.arguments or "{}")
    kind, name, _ = catalog.identity(verdict.tool, arguments)
    data = bind.inner(verdict.tool, arguments).get("data")
    label = data.get("call") if isinstance(data, dict) else ""
    return f"the payload of {kind}:{name} (data: {label})"
