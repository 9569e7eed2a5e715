"""Comparing two runs: where they first differ, and in what, turn by turn.

Times, ids, durations and numbers of attempts are not compared: they differ between any two runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from msgspec import Struct, field

from artificer.artifacts.deliverable import Deliverable
from artificer.core import events as ev
from artificer.core.record import EventLine, Line, events_of
from artificer.core.rules import keeps_reports
from artificer.core.spec import RunSpec
from artificer.errors import ArtificerError
from artificer.ports import BlobStore
from artificer.runtime.load import Loaded
from artificer.runtime.turns import CallSummary, TurnSummary, turns_of

_READ = ("prompt", "system", "toolset")
"""The parts of a spec that the model reads; the others are settings."""

_INCIDENTAL = {"at", "duration_ms", "attempts", "response_id", "raw", "evidence", "epoch", "intent"}

Pair = tuple[Any, Any]


class Difference(Struct, frozen=True):
    """One thing that is not the same: ``what`` it is, and its value in each run."""

    what: str
    a: Any
    b: Any


class First(Struct, frozen=True):
    """The first records that tell different things; 0 if a run has ended before."""

    a: int
    b: int
    what: str


class TurnDifference(Struct, frozen=True):
    """A turn that is not the same in both; ``differences`` names its parts."""

    turn: int
    differences: tuple[Difference, ...]


class Comparison(Struct, frozen=True):
    """Two runs side by side. ``settings`` are differences of what the model does not read."""

    runs: tuple[str, str]
    settings: tuple[Difference, ...] = ()
    first: First | None = None
    prompt: tuple[Difference, ...] = ()
    turns: tuple[TurnDifference, ...] = ()
    deliverable: tuple[Difference, ...] = ()
    totals: tuple[Difference, ...] = field(default=())

    @property
    def same(self) -> bool:
        """Whether both runs asked, did and delivered the same."""
        return not (self.first or self.prompt or self.turns or self.deliverable)


def compare(a: Loaded, b: Loaded, blobs: BlobStore) -> Comparison:
    """Compare two runs of one world."""
    specs = a.state.run_spec, b.state.run_spec
    return Comparison(
        runs=(a.run, b.run),
        settings=tuple(_settings(*specs)),
        first=_first(a.lines, b.lines),
        prompt=tuple(_differences({name: _of(specs, name) for name in _READ})),
        turns=tuple(_turns(turns_of(a), turns_of(b))),
        deliverable=tuple(_deliverable(a, b, blobs)),
        totals=(
            Difference("turns", a.state.turn, b.state.turn),
            Difference("input_tokens", a.state.usage.input_tokens, b.state.usage.input_tokens),
            Difference("output_tokens", a.state.usage.output_tokens, b.state.usage.output_tokens),
            Difference("cost_micros", a.state.cost_micros, b.state.cost_micros),
            Difference("duration_ms", _took(a), _took(b)),
        ),
    )


def _of(pair: Pair, name: str) -> Pair:
    return getattr(pair[0], name), getattr(pair[1], name)


def _differences(pairs: dict[str, Pair]) -> Iterator[Difference]:
    for what, (a, b) in pairs.items():
        if a != b:
            yield Difference(what, a, b)


def _settings(a: RunSpec, b: RunSpec) -> Iterator[Difference]:
    names = [name for name in RunSpec.field_names() if name not in _READ]
    dumps = a.to_json(), b.to_json()
    return _differences({name: (dumps[0][name], dumps[1][name]) for name in names})


def _first(a: Sequence[Line], b: Sequence[Line]) -> First | None:
    for one, other in zip_longest(_facts(a), _facts(b)):
        if one is None or other is None:
            seq, event = one or other
            ended = "B" if one else "A"
            return First(seq if one else 0, 0 if one else seq, f"{event['type']}; {ended} ends")
        if one[1] != other[1]:
            return First(one[0], other[0], _what(one[1], other[1]))
    return None


def _facts(lines: Sequence[Line]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return the facts of each event, without those that differ between any two runs."""
    for line in lines:
        if not isinstance(line, EventLine) or isinstance(line.event, ev.RunResumed):
            continue
        if isinstance(line.event, ev.RunForked):
            forked = line.event
            if forked.steer or forked.attachments:
                message = {
                    "steer": forked.steer,
                    "attachments": [b.digest for b in forked.attachments],
                }
                yield line.seq, {"type": "RunForked", **message}
            continue
        facts = {n: value for n, value in line.event.to_json().items() if n not in _INCIDENTAL}
        if isinstance(line.event, ev.PromptReceived):
            facts = {"type": "PromptReceived", **{n: facts["spec"][n] for n in _READ}}
        yield line.seq, facts


def _what(a: dict[str, Any], b: dict[str, Any]) -> str:
    if a["type"] != b["type"]:
        return f"{a['type']}, {b['type']}"
    names = [name for name in a if a[name] != b.get(name)]
    return f"{a['type']}: {', '.join(names)}"


def _turns(a: list[TurnSummary], b: list[TurnSummary]) -> Iterator[TurnDifference]:
    for one, other in zip_longest(_answered(a), _answered(b)):
        found = tuple(_turn(one, other))
        if found:
            yield TurnDifference((one or other).number, found)


def _answered(turns: list[TurnSummary]) -> list[TurnSummary]:
    """The last request of each turn: one that was asked again counts once."""
    return list({turn.number: turn for turn in turns}.values())


def _turn(a: TurnSummary | None, b: TurnSummary | None) -> Iterator[Difference]:
    if a is None or b is None:
        yield Difference("turn", _short(a), _short(b))
        return
    names = ("text", "stop", "failure", "sent_back")
    yield from _differences({name: _of((a, b), name) for name in names})
    for number, (one, other) in enumerate(zip_longest(a.calls, b.calls), 1):
        yield from _call(number, one, other)


def _short(turn: TurnSummary | None) -> str | None:
    if turn is None:
        return None
    calls = ", ".join(call.tool for call in turn.calls)
    return turn.text or turn.failure or f"calls {calls}"


def _call(number: int, a: CallSummary | None, b: CallSummary | None) -> Iterator[Difference]:
    if a is None or b is None or a.tool != b.tool:
        yield Difference(
            f"call {number}",
            a and f"{a.tool} {a.arguments}",
            b and f"{b.tool} {b.arguments}",
        )
        return
    names = ("arguments", "verdict", "status", "result", "artifact")
    prefix = f"call {number} {a.tool}"
    yield from _differences({f"{prefix}: {name}": _of((a, b), name) for name in names})


def _deliverable(a: Loaded, b: Loaded, blobs: BlobStore) -> Iterator[Difference]:
    states = a.state, b.state
    names = ("status", "reason")
    yield from _differences({name: _of(states, name) for name in names})
    yield from _differences({"narrative": (_narrative(a, blobs), _narrative(b, blobs))})
    made = [{f"{ref.kind}:{ref.id}": ref.payload for ref in state.artifacts} for state in states]
    for name in dict.fromkeys([*made[0], *made[1]]):
        payloads = made[0].get(name), made[1].get(name)
        if payloads[0] != payloads[1]:
            yield Difference(name, *(_payload(blobs, digest) for digest in payloads))


def _narrative(loaded: Loaded, blobs: BlobStore) -> str:
    state = loaded.state
    if state.deliverable is not None and keeps_reports(state.run_spec):
        return Deliverable.read(blobs.get(state.deliverable)).narrative
    return state.narrative or state.last_text


def _payload(blobs: BlobStore, digest: str | None) -> str | None:
    try:
        return None if digest is None else blobs.get(digest).decode("utf-8", "replace")
    except ArtificerError as error:
        return error.message


def _took(loaded: Loaded) -> int:
    """From the first event to the last; of a fork, from where it went on alone."""
    times = events_of(loaded.lines)
    begun = [event.at for event in times if isinstance(event, ev.RunForked)] or [times[0].at]
    return times[-1].at - begun[-1]
