"""The blobs that a record cites: all that its event, its intent or its evidence names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from msgspec import NODEFAULT

import artificer.backends
from artificer.core.events import Event, ToolReturned
from artificer.core.intents import Intent
from artificer.core.record import EventLine, IntentLine, Line
from artificer.runtime.proving.verify import cited
from artificer.values.base import Digest, NamedDigest, Value
from artificer.values.canon import digest_of
from artificer.values.declared import defaults_of, types_of

pytestmark = pytest.mark.req("blobs-cited")

NO_BLOBS = {
    "AdvanceBuild.wish": "jobs and facts of a build name each other, plans and changes",
    "AskApproval.call": "an answer is about one call",
    "BuildAdvanced.fact": "jobs and facts of a build name each other, plans and changes",
    "Compact.history": "conversations are compared",
    "EventLine.state": "states are compared",
    "Generate.history": "conversations are compared",
    "IntentLine.digest": "intents are compared",
    "IntentLine.request": "requests are compared",
    "Origin.hash": "it is that of a record",
    "Verdict.digest": "an answer is about one call",
}
"""The fields with digests of something else than a blob of the run, and why they have them."""


UNIONS = (Union, UnionType)

Named = dict[str, str]
"""The digests of blobs in an example, and where each stands."""


def parts(kind: Any) -> tuple[Any, ...]:
    """The types that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, Value):
        return tuple(types_of(kind).values())
    return get_args(kind) if get_origin(kind) in (tuple, *UNIONS) else ()


def has_digests(kind: Any) -> bool:
    return kind in (Digest, NamedDigest) or any(map(has_digests, parts(kind)))


def example(kind: Any, at: str, named: Named) -> Any:
    """A value with a digest wherever the type has one: of a tuple's union, one of each member."""
    if kind in (Digest, NamedDigest):
        digest = digest_of(at.encode())
        named[digest] = at
        return digest
    if get_origin(kind) is tuple:
        element, _ = get_args(kind)
        members = get_args(element) if get_origin(element) in UNIONS else (element,)
        return tuple(example(one, at, named) for one in members)
    if get_origin(kind) in UNIONS:
        first, *more = sorted(get_args(kind), key=has_digests, reverse=True)
        assert not any(map(has_digests, more)), f"{at}: an example holds one of these only"
        return example(first, at, named)
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, Value):
        return value(kind, f"{at} {kind.__name__}", named)
    return {int: 1, bool: True}.get(kind, "text")


def value(kind: type[Value], at: str, named: Named, **given: Any) -> Any:
    """A value of a class with the fields that are required, and those that have digests."""
    fields = dict(given)
    for name, part in types_of(kind).items():
        if f"{kind.__name__}.{name}" in NO_BLOBS:
            fields[name] = None
        elif name not in given and (defaults_of(kind)[name] is NODEFAULT or has_digests(part)):
            fields[name] = example(part, f"{at}.{name}", named)
    return kind(**fields)


def cites(line: Line, named: Named) -> None:
    """Check that a line cites what is named, and nothing else."""
    assert sorted(named.get(d, d) for d in cited(line)) == sorted(named.values())


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_digest_of_an_event_is_cited_or_listed(kind: type[Value]) -> None:
    named: Named = {}
    event = value(kind, kind.__name__, named)
    cites(value(EventLine, "EventLine", named, event=event), named)


@pytest.mark.parametrize("kind", get_args(Intent), ids=lambda kind: kind.__name__)
def test_every_digest_of_an_intent_is_cited_or_listed(kind: type[Value]) -> None:
    named: Named = {}
    intent = value(kind, kind.__name__, named)
    cites(value(IntentLine, "IntentLine", named, intent=intent), named)


def returned(evidence: str, named: Named) -> EventLine:
    event = ToolReturned(at=1, intent=1, status="ok", content="", duration_ms=1, evidence=evidence)
    line: EventLine = value(EventLine, "EventLine", named, event=event)
    return line


def envelopes() -> list[Any]:
    """The classes of the evidence of all backends."""
    backends = Path(artificer.backends.__file__).parent
    rooms = sorted(path.parts[-3] for path in backends.glob("*/spec/envelope.py"))
    modules = [import_module(f"artificer.backends.{room}.spec.envelope") for room in rooms]
    return [
        kind
        for module in modules
        for name, kind in vars(module).items()
        if name.endswith("Envelope")
    ]


@pytest.mark.parametrize("kind", envelopes(), ids=lambda kind: kind.__name__)
def test_every_digest_of_evidence_is_cited_but_that_of_a_whole_output(kind: type[Value]) -> None:
    named: Named = {}
    evidence = value(kind, kind.__name__, named).to_text()
    cites(returned(evidence, named), {d: at for d, at in named.items() if "output_hash" not in at})


@pytest.mark.parametrize("evidence", ["", "[]", "{", '{"blob": 1, "blobs": {}, "picture": [2]}'])
def test_evidence_of_an_executor_of_ones_own_may_be_any_text(evidence: str) -> None:
    named: Named = {}
    cites(returned(evidence, named), named)
