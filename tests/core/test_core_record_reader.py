"""The first records of a process are read kind by kind, and as all others are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from artificer.core.record import FIRST_READS, LineReader
from artificer.errors import InvalidValueError
from artificer.values.canon import canonical

pytestmark = pytest.mark.req("record-first-reads")

JOURNALS = sorted((Path(__file__).parents[1] / "journals").glob("*.jsonl"))


def bodies(journal: Path) -> list[bytes]:
    """The records of a journal whose strings are all in them."""
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    return [line["record"].encode() for line in lines if "$blob" not in line.get("record", "$blob")]


def later() -> LineReader:
    """A reader that has read as many records as are read kind by kind."""
    reader = LineReader()
    (body, *_) = bodies(JOURNALS[0])
    for _ in range(FIRST_READS):
        reader.read(body)
    return reader


LATER = later()


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda journal: journal.stem)
def test_a_first_record_is_what_a_later_one_is(journal: Path) -> None:
    for body in bodies(journal):
        first, last = LineReader().read(body), LATER.read(body)
        assert type(first) is type(last) and first == last


def swapped(body: dict[str, Any]) -> None:
    body["event"] = {"type": "JudgeCalls", "n": 1, "turn": 1}


@pytest.mark.parametrize(
    "change",
    [
        swapped,
        lambda body: body["event"].update(type="Nothing"),
        lambda body: body["event"].pop("type"),
        lambda body: body["event"].update(type=1),
        lambda body: body["event"].update(at="soon"),
        lambda body: body["event"].update(more=1),
        lambda body: body.update(event=[]),
        lambda body: body.pop("event"),
        lambda body: body.update(more=1),
        lambda body: body.update(state="short"),
        lambda body: body.update(kind="neither"),
        lambda body: body.update(kind="intent"),
        lambda body: body.update(intent={"type": "JudgeCalls", "n": 1, "turn": 1}),
    ],
)
def test_what_is_no_record_is_refused_in_the_same_words(change: Any) -> None:
    body = json.loads(bodies(JOURNALS[0])[-1])
    assert body["kind"] == "event"
    change(body)
    data = canonical(body)
    with pytest.raises(InvalidValueError) as first:
        LineReader().read(data)
    with pytest.raises(InvalidValueError) as last:
        LATER.read(data)
    assert (first.value.pointer, first.value.reason) == (last.value.pointer, last.value.reason)
