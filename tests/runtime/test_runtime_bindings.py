"""Artifacts bound to recorded results: accepted, recorded, replayed, verified, shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from artificer.artifacts.deliverable import Deliverable
from artificer.core import events as ev
from artificer.core.record import EventLine, decode, encode
from artificer.core.state import RunState
from artificer.core.verdict import Verdict
from artificer.ports import Call, Record
from artificer.providers.scripted import call, reply, say
from artificer.render.html import to_html
from artificer.render.markdown import to_markdown
from artificer.report import make_report
from artificer.runtime.proving.bindings import Unfaithful, unfaithful_lines
from artificer.runtime.proving.verify import verify
from artificer.testing.rig import Rig
from artificer.values.canon import digest_of

DISKS = (
    '{"items": [{"name": "logs", "bytes": 1.10}, {"name": "video", "bytes": 7341},'
    ' {"name": "mail", "bytes": 12}, {"name": "\\u202egnp", "bytes": 3}], "total": 7357.10}'
)
CHART = {"call": "disks#1", "rows": "/items", "label": "name", "values": ["bytes"]}
TEXT = "{{artifact:chart:disk}}\n\nIn all {{artifact:value:total}} were used."


def binding_rig(content: str = DISKS) -> Rig:
    rig = Rig(binding=True)

    async def disks(call: Call) -> str:
        return content

    rig.tools.add("disks", disks)
    return rig


async def delivered(rig: Rig, *calls: Any, text: str = TEXT) -> RunState:
    script = [reply(call("disks")), reply(*calls), say(text)]
    return await rig.run(script, kind="deliver")


CALLS = (
    call(
        "create_bar_chart",
        id="disk",
        title="Largest",
        data={**CHART, "top": {"n": 2, "by": "bytes", "other": "Rest"}},
    ),
    call(
        "create_value",
        id="total",
        data={"call": "disks#1", "at": "/total"},
        format={"style": "grouped", "suffix": " B"},
    ),
)


async def verdicts(rig: Rig) -> list[Verdict]:
    events = await rig.events()
    return [v for e in events if isinstance(e, ev.CallsJudged) for v in e.verdicts]


@pytest.mark.req("binding-payload")
class TestPayloads:
    async def test_hold_the_binding_and_what_it_gives(self) -> None:
        rig = binding_rig()
        state = await delivered(rig, *CALLS)
        chart, value = (json.loads(rig.blobs.get(ref.payload)) for ref in state.artifacts)
        assert chart["labels"] == ["video", "mail", "Rest"]
        assert chart["series"] == [{"name": "bytes", "values": [7341, 12, 4.1]}]
        source = state.sources[0]
        assert chart["data"]["digest"] == value["data"]["digest"] == source.digest
        assert chart["data"]["version"] == 1
        assert chart["data"]["values"] == [{"column": "bytes"}]
        assert (value["value"], value["shown"]) == ("7357.10", "7,357.10 B")

    async def test_are_what_the_verdict_and_the_executor_got(self) -> None:
        rig = binding_rig()
        state = await delivered(rig, *CALLS)
        judged = [v for v in await verdicts(rig) if v.tool != "disks"]
        digests = [digest_of((v.arguments or "").encode()) for v in judged]
        assert digests == [ref.payload for ref in state.artifacts]

    async def test_replay_comes_to_the_same(self) -> None:
        rig = binding_rig()
        await delivered(rig, *CALLS)
        found = await rig.replay()
        assert found.identical and found.drift == []
        assert (await verify(rig.journal, rig.blobs)).sound


@pytest.mark.req("binding-refused")
class TestRefusals:
    async def refusal(self, rig: Rig, *calls: Any) -> str:
        await delivered(rig, *calls, text="Nothing.")
        return "\n".join(v.content for v in await verdicts(rig) if v.verdict == "invalid")

    async def test_every_problem_comes_at_once_with_what_there_is(self) -> None:
        data = {**CHART, "label": "nam", "values": ["byte"], "sort": ["x"]}
        said = await self.refusal(binding_rig(), call("create_bar_chart", id="d", data=data))
        for pointer in ("/data/label", "/data/values/0/column", "/data/sort/0/by"):
            assert pointer in said
        assert "Columns: name, bytes" in said

    async def test_a_wrong_pointer_is_answered_with_the_right_ones(self) -> None:
        data = {**CHART, "rows": "/item"}
        said = await self.refusal(binding_rig(), call("create_bar_chart", id="d", data=data))
        assert "/items" in said

    async def test_an_unknown_label_is_answered_with_the_known_ones(self) -> None:
        data = {**CHART, "call": "disk#1"}
        said = await self.refusal(binding_rig(), call("create_bar_chart", id="d", data=data))
        assert "There are: disks#1" in said

    async def test_a_call_of_the_same_reply_has_no_result_yet(self) -> None:
        data = {**CHART, "call": "disks#2"}
        chart = call("create_bar_chart", id="d", data=data)
        said = await self.refusal(binding_rig(), call("disks", again=True), chart)
        assert "wait for its result" in said

    async def test_data_and_numbers_do_not_go_together(self) -> None:
        typed = {"labels": ["a"], "series": [{"name": "s", "values": [1]}]}
        said = await self.refusal(
            binding_rig(), call("create_bar_chart", id="d", data=CHART, **typed)
        )
        assert "/labels" in said and "/series" in said

    async def test_what_the_gate_records_cannot_be_written_by_a_model(self) -> None:
        data = {**CHART, "version": 9, "digest": "sha256:" + "0" * 64}
        said = await self.refusal(binding_rig(), call("create_bar_chart", id="d", data=data))
        assert "version" in said and "digest" in said

    async def test_without_data_the_tool_asks_for_its_numbers(self) -> None:
        said = await self.refusal(binding_rig(), call("create_bar_chart", id="d"))
        assert "labels" in said and "series" in said

    async def test_results_that_failed_have_no_data(self) -> None:
        rig = binding_rig("no JSON at all")
        said = await self.refusal(rig, call("create_bar_chart", id="d", data=CHART))
        assert "There are: none" in said


@pytest.mark.req("binding-seed")
async def test_the_own_parameters_stay_as_they_were() -> None:
    rig = binding_rig()
    chart = call("create_bar_chart", id="disk", labels=["a"], series=[{"name": "s", "values": [1]}])
    state = await delivered(rig, chart, text="{{artifact:chart:disk}}")
    assert "data" not in json.loads(rig.blobs.get(state.artifacts[0].payload))


@pytest.mark.req("binding-offered")
async def test_without_tools_that_can_be_bound_nothing_is_offered() -> None:
    plain = {tool.name: tool for tool in Rig().executors()[1].tools}
    offered = {tool.name: tool for tool in Rig(binding=True).executors()[1].tools}
    assert "create_value" in offered and "create_value" not in plain
    assert "data" not in json.dumps(plain["create_bar_chart"].input_schema)
    assert "value" not in json.dumps(plain["withdraw_artifact"].input_schema["properties"])


Change = Callable[[ev.Event], ev.Event]

TYPED = call("create_bar_chart", id="disk", labels=["a"], series=[{"name": "s", "values": [1]}])


@pytest.mark.req("binding-follows")
class TestPayloadsThatDoNotFollow:
    """Someone who can write everything, chains and digests included, changes a digit."""

    async def forged(self, rig: Rig, change: Change) -> list[Unfaithful]:
        """The faults of the run's records, rewritten consistently with a change."""
        records: list[Record] = []
        prev = ""
        for record in await rig.journal.read("run"):
            line = decode(record.body, rig.blobs.get)
            if isinstance(line, EventLine):
                line = line.replace(event=change(line.event))
            body, blobs = encode(line.replace(prev=prev))
            for blob in blobs:
                rig.blobs.put(blob)
            prev = digest_of(body)
            records.append(Record(run="run", seq=line.seq, hash=prev, body=body))
        lines = [decode(record.body, rig.blobs.get) for record in records]
        return [found for _, found in unfaithful_lines(lines, rig.blobs)]

    def judged(self, old: str, new: str) -> Change:
        """A change of the arguments that the gate let through."""

        def change(event: ev.Event) -> ev.Event:
            if not isinstance(event, ev.CallsJudged):
                return event
            verdicts = tuple(
                v.replace(arguments=v.arguments and v.arguments.replace(old, new))
                for v in event.verdicts
            )
            return event.replace(verdicts=verdicts)

        return change

    async def test_are_named_with_their_pointer(self) -> None:
        rig = binding_rig()
        await delivered(rig, *CALLS)
        found = await self.forged(rig, self.judged("7341", "7941"))
        assert {(f.artifact, f.pointer, f.label) for f in found} == {
            ("chart:disk", "/data", "disks#1")
        }

    @pytest.mark.parametrize("name", ['"data": ', '"d\\u0061ta":'])
    async def test_are_named_however_their_text_is_written(self, name: str) -> None:
        rig = binding_rig()
        await delivered(rig, *CALLS)

        def change(event: ev.Event) -> ev.Event:
            return self.judged('"data":', name)(self.judged("7341", "7941")(event))

        assert "chart:disk" in {f.artifact for f in await self.forged(rig, change)}

    async def test_a_typed_chart_cannot_be_made_to_look_bound(self) -> None:
        rig = binding_rig()
        await delivered(rig, TYPED, text="{{artifact:chart:disk}}")
        data = '"data":{"call":"disks#1","digest":"sha256:0","version":1},"id":"disk"'
        found = await self.forged(rig, self.judged('"id":"disk"', data))
        assert [f.artifact for f in found] == ["chart:disk"] * len(found) != []

    async def test_nor_by_another_payload_than_the_gate_let_through(self) -> None:
        rig = binding_rig()
        state = await delivered(rig, TYPED, text="{{artifact:chart:disk}}")
        payload = json.loads(rig.blobs.get(state.artifacts[0].payload))
        other = rig.blobs.put(json.dumps({**payload, "data": {"call": "disks#1"}}).encode())

        def change(event: ev.Event) -> ev.Event:
            if not isinstance(event, ev.ToolReturned) or event.artifact is None:
                return event
            return event.replace(artifact=event.artifact.replace(payload=other))

        assert [f.why for f in await self.forged(rig, change)] == [
            "says that it is bound, and no verdict has bound it"
        ]

    async def test_nor_by_a_deliverable_with_another_payload(self) -> None:
        rig = binding_rig()
        state = await delivered(rig, TYPED, text="{{artifact:chart:disk}}")
        ref = state.artifacts[0]
        payload = json.loads(rig.blobs.get(ref.payload))
        forged = {**payload, "data": {"call": "disks#1"}}
        other = ref.replace(payload=rig.blobs.put(json.dumps(forged).encode()))
        whole = Deliverable.read(rig.blobs.get(state.deliverable or ""))
        digest = rig.blobs.put(whole.replace(artifacts=(other,)).canonical())

        def change(event: ev.Event) -> ev.Event:
            is_end = isinstance(event, ev.RunFinished)
            return event.replace(deliverable=digest) if is_end else event

        assert [f.artifact for f in await self.forged(rig, change)] == ["chart:disk"]

    async def test_nothing_is_said_of_a_run_that_nobody_changed(self) -> None:
        rig = binding_rig()
        await delivered(rig, *CALLS)
        assert await self.forged(rig, lambda event: event) == []


@pytest.mark.req("binding-note")
class TestThePage:
    async def pages(self, *calls: Any, text: str = TEXT) -> tuple[str, str]:
        rig = binding_rig()
        state = await delivered(rig, *calls, text=text)
        deliverable = Deliverable.read(rig.blobs.get(state.deliverable or ""))
        report = make_report("run", state, deliverable, rig.blobs)
        return to_html(report), to_markdown(report)

    async def test_says_where_the_numbers_come_from(self) -> None:
        html, markdown = await self.pages(*CALLS)
        note = "Data: disks, call 1: top 2 by bytes, other rows summed as Rest"
        assert note in html and note in markdown
        assert html.count("words of the model.") == markdown.count("words of the model.") == 1

    async def test_shows_a_value_in_its_sentence_and_its_source_at_the_end(self) -> None:
        html, markdown = await self.pages(*CALLS)
        assert "7,357.10 B</bdi></span> were used." in html
        assert "In all 7,357.10 B were used." in markdown
        assert "Values in the text" in html and "the value at /total" in markdown

    async def test_marks_what_the_model_typed(self) -> None:
        chart = call(
            "create_bar_chart", id="disk", labels=["a"], series=[{"name": "s", "values": [1]}]
        )
        html, markdown = await self.pages(chart, text="{{artifact:chart:disk}}")
        assert "Numbers typed by the model." in html
        assert "Numbers typed by the model." in markdown

    @pytest.mark.req("binding-apart")
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("1", ""),
            ("1,", ""),
            ("-", ""),
            ("−", ""),
            ("**1**", ""),
            ("&#49;", ""),
            ("1\u200b", ""),
            ("1 ", ""),
            ("1\u202f", ""),
            ("1$", ""),
            ("", "000"),
            ("", ",000"),
            ("", " 000"),
            ("", "**000**"),
            ("", "&#48;"),
            ("", "e6"),
            ("", "k"),
            ("", "²"),
            ("", "{{artifact:value:total}}"),
            ("$-$", ""),
            (r"$\text{1}$ ", ""),
            ("", "$k$"),
            ("", r" $\text{000}$"),
        ],
    )
    async def test_nothing_passes_for_a_part_of_a_value(self, before: str, after: str) -> None:
        text = f"{{{{artifact:chart:disk}}}}\n\nAt {before}{{{{artifact:value:total}}}}{after}"
        html, markdown = await self.pages(*CALLS, text=text)
        assert "“7,357.10 B”" in markdown
        assert "“<span" in html and "</span>”" in html

    @pytest.mark.req("binding-apart")
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("In ", " used."),
            ("(", ")"),
            ("**", "**."),
            ("| ", " |"),
            ("共", "个。"),
            ("in 2024, ", ", and"),
            (r"$\alpha =$ ", " $x$"),
        ],
    )
    async def test_a_value_in_a_sentence_is_shown_as_it_is(self, before: str, after: str) -> None:
        text = f"{{{{artifact:chart:disk}}}}\n\nAt {before}{{{{artifact:value:total}}}}{after}"
        _, markdown = await self.pages(*CALLS, text=text)
        assert "7,357.10 B" in markdown and "“" not in markdown
