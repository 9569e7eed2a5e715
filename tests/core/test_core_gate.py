"""The gate and the records: what hostile arguments can do to them, which is nothing."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artificer.artifacts import catalog
from artificer.backends.artifact import offered
from artificer.backends.artifact.executor import ArtifactExecutor
from artificer.contracts.definition import ToolDefinition, toolset
from artificer.core import events as ev
from artificer.core.artifact_calls import normalised
from artificer.core.gate import call_digest, judge
from artificer.core.policy import Policy
from artificer.core.record import EventLine, decode, encode
from artificer.core.spill import INLINE_LIMIT
from artificer.core.verdict import Verdict
from artificer.errors import TamperedError
from artificer.ports import Call
from artificer.storage.blobs.memory import MemoryStore
from artificer.values.blocks import TextBlock, ToolUseBlock
from artificer.values.canon import digest_of
from artificer.values.model import Usage

STATE = "sha256:" + "0" * 64
TOOLS = toolset(offered.tools())

SAMPLES: dict[str, dict[str, Any]] = {
    "create_file": {"name": "a.md", "content": "x"},
    "create_pie_chart": {"id": "a", "segments": [{"label": "x", "value": 1}]},
    "create_bar_chart": {"id": "a", "labels": ["x"], "series": [{"name": "s", "values": [1]}]},
    "create_line_chart": {"id": "a", "labels": ["x"], "series": [{"name": "s", "values": [-1]}]},
    "create_area_chart": {"id": "a", "labels": ["x"], "series": [{"name": "s", "values": [0.5]}]},
    "create_scatter_chart": {"id": "a", "series": [{"name": "s", "points": [{"x": 1, "y": 2}]}]},
    "create_stacked_bar_chart": {
        "id": "a",
        "labels": ["x"],
        "series": [{"name": "s", "values": [0]}],
    },
    "create_table": {"table": {"kind": "table", "id": "a", "columns": ["x"], "rows": [["1"]]}},
    "create_list": {"list": {"kind": "list", "id": "a", "items": ["x"]}},
    "create_checklist": {
        "checklist": {"kind": "checklist", "id": "a", "items": [{"id": "i", "label": "x"}]}
    },
    "create_svg": {"svg": {"id": "a", "content": '<svg viewBox="0 0 9 9"><path d="M0 0"/></svg>'}},
}

ODD = st.sampled_from(
    [
        *(None, True, 0, -1, 1.5, 1e21, 1e-320, 2**53 - 1, "", " ", "a", "A", "é😀", "\x00", "\n"),
        *("../x", "x" * 600, "x" * 30_000, "{{artifact}}", "<svg/>", "<!DOCTYPE x>"),
        *([], {}, [[]], [None], {"": {}}, {"$blob": STATE}, [["1"], ["1", "2"]]),
        "<svg viewBox='0 0 1e9 1'><g/></svg>",
    ]
).map(copy.deepcopy)


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    found = [here]
    if isinstance(value, dict):
        found += [p for k, v in value.items() for p in paths(v, (*here, k))]
    elif isinstance(value, list):
        found += [p for i, v in enumerate(value) for p in paths(v, (*here, i))]
    return found


@st.composite
def arguments(draw: st.DrawFn) -> tuple[str, str]:
    """A tool, and arguments that are right but for a few odd values."""
    name = draw(st.sampled_from(sorted(SAMPLES)))
    value: Any = {"root": copy.deepcopy(SAMPLES[name])}
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(paths(value)[1:]))
        parent = value
        for step in path[:-1]:
            parent = parent[step]
        what = draw(st.sampled_from(["put", "put", "double", "drop", "add"]))
        if what == "double" and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[path[-1]]))
        elif what == "drop" and isinstance(parent, list):
            del parent[path[-1]]
        elif what == "add" and isinstance(parent[path[-1]], dict):
            parent[path[-1]][draw(st.sampled_from(["replace", "id", "é", "title"]))] = draw(ODD)
        else:
            parent[path[-1]] = draw(ODD)
    return name, json.dumps(value["root"])


@pytest.mark.req("gate-total")
class TestGate:
    @given(st.lists(arguments(), min_size=1, max_size=4))
    @settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
    def test_what_it_lets_through_can_be_performed(self, calls: list[tuple[str, str]]) -> None:
        blocks = tuple(
            ToolUseBlock(id=f"c{n}", name=name, arguments=text)
            for n, (name, text) in enumerate(calls)
        )
        verdicts = judge(blocks, toolset=TOOLS, policy=Policy(), made=(), limit=3, stop="tool_use")
        assert [v.call_id for v in verdicts] == [b.id for b in blocks]
        for block, verdict in zip(blocks, verdicts, strict=True):
            assert verdict.canonical()
            if verdict.verdict != "allow":
                assert json.loads(verdict.content)["ok"] is False
                continue
            assert verdict.arguments and verdict.digest == call_digest(
                block.name, verdict.arguments
            )
            tool = TOOLS.get(block.name)
            assert tool is not None
            written = json.loads(block.arguments)
            assert json.loads(verdict.arguments) == normalised(tool, written)
            asyncio.run(self.perform(TOOLS.get(block.name), verdict))

    async def perform(self, tool: ToolDefinition | None, verdict: Verdict) -> None:
        assert tool and verdict.arguments
        blobs = MemoryStore()
        call = Call("run", verdict.call_id, tool, json.loads(verdict.arguments), "key")
        receipt = await ArtifactExecutor(blobs, offered.tools()).execute(call)
        assert receipt.status == "ok" and receipt.artifact is not None
        assert blobs.get(receipt.artifact.payload).decode() == verdict.arguments
        assert catalog.load(tool.name, json.loads(verdict.arguments))

    @given(st.text(max_size=20), st.text(max_size=30))
    def test_any_name_and_text_get_a_verdict(self, name: str, text: str) -> None:
        block = ToolUseBlock(id="a", name=name, arguments=text)
        (verdict,) = judge(
            (block,), toolset=TOOLS, policy=Policy(), made=(), limit=9, stop="tool_use"
        )
        assert (verdict.verdict == "unknown_tool") is (TOOLS.get(name) is None)
        assert verdict.verdict not in ("allow", "ask") or TOOLS.get(name) is not None

    def test_a_digest_binds_name_and_arguments(self) -> None:
        digests = {call_digest("a", "{}"), call_digest("b", "{}"), call_digest("a", '{"x":1}')}
        assert len(digests) == 3

    def test_one_failure_names_every_call_of_a_cut_reply(self) -> None:
        blocks = tuple(ToolUseBlock(id=str(n), name="create_list", arguments="{") for n in range(3))
        verdicts = judge(
            blocks, toolset=TOOLS, policy=Policy(), made=(), limit=9, stop="max_tokens"
        )
        assert [v.verdict for v in verdicts] == ["invalid"] * 3


def line(text: str) -> EventLine:
    event = ev.ModelResponded(
        at=1,
        intent=1,
        blocks=(TextBlock(text=text), ToolUseBlock(id="a", name="t", arguments=text)),
        stop="end_turn",
        usage=Usage(),
        model=text,
        response_id="",
        attempts=1,
        duration_ms=0,
    )
    return EventLine(run="run", seq=1, prev="", event=event, state=STATE)


@pytest.mark.req("record-form")
class TestRecords:
    @given(
        st.text(max_size=50)
        | st.sampled_from(["x", "é", "😀", '"', "\x00"]).flatmap(
            lambda c: st.integers(1_000, 5_000).map(lambda n: c * n)
        )
        | st.just('{"$blob":"' + STATE + '"}')
    )
    @settings(deadline=None)
    def test_records_come_back_as_they_were(self, text: str) -> None:
        original, store = line(text), MemoryStore()
        body, blobs = encode(original)
        for blob in blobs:
            store.put(blob)
            assert len(blob) > INLINE_LIMIT
        assert decode(body, store.get) == original
        again, _ = encode(decode(body, store.get))
        assert digest_of(again) == digest_of(body)

    def test_long_strings_are_stored_once_however_often_they_stand_there(self) -> None:
        body, blobs = encode(line("é" * INLINE_LIMIT))
        assert len(body) < 1_500 and len(set(blobs)) == 1

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{}",
            b"[]",
            b"null",
            b"\xff",
            b'{"kind":"event"}',
            b'{"$blob":1}',
            b'{"$blob":"sha256:0"}',
            b'{"x":{"$blob":["a"]}}',
            b"[" * 100_000,
        ],
    )
    def test_what_is_no_record_is_called_so(self, body: bytes) -> None:
        def fetch(digest: str) -> bytes:
            return b"\xff not text"

        with pytest.raises(TamperedError):
            decode(body, fetch)

    def test_a_record_of_a_newer_format_is_not_guessed_at(self) -> None:
        body, _ = encode(line("x"))
        with pytest.raises(TamperedError, match="/format is none of the values") as caught:
            decode(body.replace(b'"format":1', b'"format":2'), lambda digest: b"")
        assert "newer release" in (caught.value.hint or "")


@pytest.mark.req("schema-formats")
@pytest.mark.parametrize(("backend", "verdict"), [("function", "allow"), ("command", "invalid")])
def test_a_format_is_a_rule_unless_a_functions_types_decide(backend: Any, verdict: str) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
    tool = ToolDefinition(name="plan", description="Plan.", input_schema=schema, backend=backend)
    use = ToolUseBlock(id="c", name="plan", arguments='{"day": "tomorrow"}')
    (found,) = judge(
        (use,), toolset=toolset([tool]), policy=Policy(), made=(), limit=1, stop="tool_use"
    )
    assert found.verdict == verdict
