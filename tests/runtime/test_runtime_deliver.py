"""Deliverables: what is kept, what is asked for, and how the end is named."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from artificer.core import events as ev
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import Limits
from artificer.core.state import RunState
from artificer.ports import BlobStore
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.watching.observe import Observer
from artificer.storage.blobs.memory import MemoryStore
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from artificer.values.model import ModelFailure, ModelReply

LONG = "The first paragraph says what was found, and the second one says why it matters. " * 3


@pytest.fixture
def rig() -> Rig:
    return Rig()


def make_list(name: str, *items: str, **facts: object) -> ToolUseBlock:
    return call("create_list", list={"kind": "list", "id": name, "items": list(items)}, **facts)


def make_table(name: str) -> ToolUseBlock:
    return call(
        "create_table", table={"kind": "table", "id": name, "columns": ["a"], "rows": [["1"]]}
    )


async def deliver(rig: Rig, *answers: ModelReply | ModelFailure, **facts: Any) -> RunState:
    provider = ScriptedProvider(list(answers))
    facts = {"limits": Limits(turns=24), **facts}
    state = await rig.run(provider, kind="deliver", **facts)
    assert provider.remaining == 0, "every answer of the script was asked for"
    for body in provider.requests:
        assert unpaired(messages_of(body)) == []
    replayed = await rig.replay()
    assert replayed.identical and replayed.drift == []
    return state


def codes(state: RunState) -> list[str]:
    return [finding.code for finding in state.findings]


async def told(rig: Rig) -> list[str]:
    """Return the requests for repairs, round by round."""
    checks = [e for e in await rig.events() if isinstance(e, ev.ReplyChecked)]
    return [check.request for check in checks if check.request is not None]


@pytest.mark.req("deliver-repair")
class TestRepair:
    async def test_missing_artifacts_are_asked_for_and_made(self, rig: Rig) -> None:
        text = LONG + "{{artifact:list:todo}} {{artifact:table:costs}}"
        state = await deliver(
            rig,
            say(text),
            reply(make_list("todo", "a")),
            say("Made it."),
            reply(make_table("costs")),
            say("And that."),
        )
        assert (state.status, state.reason, state.repairs) == ("completed", "done", 2)
        assert rig.deliverable(state).narrative == text
        first, second = await told(rig)
        assert "list:todo" in first and "table:costs" in first
        assert "table:costs" in second and "list:todo" not in second

    async def test_a_short_goodbye_does_not_replace_the_report(self, rig: Rig) -> None:
        text = LONG + "{{artifact:list:todo}}"
        state = await deliver(rig, say(text), reply(make_list("todo", "a")), say("Sorry, done."))
        assert rig.deliverable(state).narrative == text
        rejected = [e.rejected for e in await rig.events() if isinstance(e, ev.ReplyChecked)]
        assert rejected[0] is None and rejected[1] is not None

    async def test_a_revision_that_keeps_everything_replaces_it(self, rig: Rig) -> None:
        revised = LONG + "Better. {{artifact:list:todo}}"
        state = await deliver(
            rig,
            say(LONG + "{{artifact:list:todo}}"),
            reply(make_list("todo", "a")),
            say(revised),
        )
        assert rig.deliverable(state).narrative == revised

    async def test_four_rounds_then_partial(self, rig: Rig) -> None:
        text = LONG + "{{artifact:list:todo}}"
        state = await deliver(rig, *[say(text)] * 5)
        deliverable = rig.deliverable(state)
        assert (state.repairs, deliverable.status) == (4, "partial")
        assert (state.reason, deliverable.narrative) == ("repair_limit", text)
        assert [finding.subject for finding in deliverable.findings] == ["list:todo"]
        assert "repair rounds" in deliverable.note

    async def test_repairs_do_not_reset(self, rig: Rig) -> None:
        """A reply with calls between two faulty ones is no way around the bound."""
        text = say(LONG + "{{artifact:list:todo}}")
        other = [reply(make_list(f"x{n}", "a")) for n in range(4)]
        state = await deliver(rig, text, *(a for o in other for a in (o, text)))
        assert (state.reason, state.repairs, state.turn) == ("repair_limit", 4, 9)

    async def test_ids_that_drifted_are_rewritten(self, rig: Rig) -> None:
        state = await deliver(
            rig, reply(make_list("Todo-List", "a")), say("{{ Artifact : LIST : todo-list }}")
        )
        assert state.status == "completed"
        assert rig.deliverable(state).narrative == "{{ Artifact : LIST : Todo-List }}"
        assert codes(state) == ["drift"]

    async def test_markdown_lists_are_sent_back(self, rig: Rig) -> None:
        state = await deliver(rig, say(LONG + "\n\n- one\n- two\n"), say(LONG + "Without a list."))
        assert (state.status, state.repairs) == ("completed", 1)

    async def test_what_was_cut_off_stays_partial_whatever_comes_after(self, rig: Rig) -> None:
        text = LONG + "{{artifact:list:todo}} and then the"
        state = await deliver(
            rig, say(text, stop="max_tokens"), reply(make_list("todo", "a")), say("Done.")
        )
        assert (state.status, state.reason) == ("partial", "output_limit")
        assert rig.deliverable(state).narrative == text

    async def test_a_whole_revision_heals_what_was_cut_off(self, rig: Rig) -> None:
        text = LONG + "{{artifact:list:todo}} and then the"
        state = await deliver(
            rig,
            say(text, stop="max_tokens"),
            reply(make_list("todo", "a")),
            say(text + " end."),
        )
        assert (state.status, state.reason) == ("completed", "done")


@pytest.mark.req("deliver-status")
class TestStatus:
    async def test_unreferenced_artifacts_are_kept_and_reported(self, rig: Rig) -> None:
        state = await deliver(
            rig, reply(make_list("a", "a"), make_list("extra", "a")), say("{{artifact:list:a}}")
        )
        deliverable = rig.deliverable(state)
        assert deliverable.status == "completed"
        assert [ref.id for ref in deliverable.artifacts] == ["a", "extra"]
        assert [finding.code for finding in deliverable.findings] == ["unreferenced"]

    async def test_the_turn_limit_leaves_a_partial_with_what_exists(self, rig: Rig) -> None:
        text = TextBlock(text=LONG + "{{artifact:list:a}} {{artifact:list:b}}")
        state = await deliver(rig, reply(text, make_list("a", "x")), limits=Limits(turns=1))
        deliverable = rig.deliverable(state)
        assert (deliverable.status, state.reason) == ("partial", "turn_limit")
        assert [finding.subject for finding in deliverable.findings] == ["list:b"]
        assert [ref.id for ref in deliverable.artifacts] == ["a"]

    async def test_nothing_at_all_is_failed(self, rig: Rig) -> None:
        state = await deliver(rig, ModelFailure(code="context_overflow", message="no"))
        assert (state.status, rig.deliverable(state).narrative) == ("failed", "")

    async def test_never_completed_with_a_dangling_citation(self, rig: Rig) -> None:
        for number, text in enumerate(
            ["{{artifact:list:no}}", "{{artifact:lst:no}}", "{{artifact:list}}"]
        ):
            provider = ScriptedProvider([say(LONG + text)] * 5)
            state = await rig.run(provider, kind="deliver", run=f"run-{number}")
            assert state.status == "partial", text


@pytest.mark.req("deliver-artifacts")
class TestArtifacts:
    async def test_the_same_id_twice_in_a_turn_is_refused_once(self, rig: Rig) -> None:
        state = await deliver(
            rig,
            reply(make_list("a", "first"), make_list("a", "second"), make_list("A", "third")),
            say("{{artifact:list:a}}"),
        )
        (ref,) = state.artifacts
        assert json.loads(rig.blobs.get(ref.payload))["list"]["items"] == ["first"]

    async def test_replace_takes_the_place(self, rig: Rig) -> None:
        state = await deliver(
            rig,
            reply(make_list("a", "first")),
            reply(make_list("a", "second", replace=True)),
            say("{{artifact:list:a}}"),
        )
        (ref,) = state.artifacts
        assert json.loads(rig.blobs.get(ref.payload))["list"]["items"] == ["second"]

    async def test_of_one_turn_the_last_call_wins_not_the_last_to_end(self) -> None:
        class SlowFirst(MemoryStore):
            def put(self, data: bytes) -> str:
                if b'"first"' in data:
                    second_is_stored.wait()
                digest = super().put(data)
                if b'"second"' in data:
                    second_is_stored.set()
                return digest

        second_is_stored = threading.Event()
        blobs: BlobStore = SlowFirst()
        rig = Rig(blobs=blobs)
        state = await asyncio.wait_for(
            deliver(
                rig,
                reply(make_list("a", "first"), make_list("a", "second", replace=True)),
                say("{{artifact:list:a}}"),
            ),
            timeout=120,
        )
        (ref,) = state.artifacts
        assert json.loads(blobs.get(ref.payload))["list"]["items"] == ["second"]

    async def test_data_is_kept_exactly(self, rig: Rig) -> None:
        values = [6.02e23, -0.0, 1e-7, 9007199254740991, 0.1]
        chart = call(
            "create_line_chart",
            id="c",
            labels=list("abcde"),
            series=[{"name": "é😀", "values": values}],
        )
        state = await deliver(rig, reply(chart), say("{{artifact:chart:c}}"))
        stored = json.loads(rig.blobs.get(state.artifacts[0].payload))
        assert stored["series"] == [{"name": "é😀", "values": values}]

    async def test_numbers_that_cannot_be_kept_are_refused_before_anything_runs(
        self, rig: Rig
    ) -> None:
        chart = call(
            "create_line_chart", id="c", labels=["a"], series=[{"name": "s", "values": [1e20]}]
        )
        state = await deliver(rig, reply(chart), say("No chart."))
        (result,) = [b for m in state.history for b in m.blocks if isinstance(b, ToolResultBlock)]
        assert result.status == "invalid" and "2**53" in result.content

    async def test_cancelled_runs_keep_what_was_made(self, rig: Rig) -> None:
        class StopWhenMade(Observer):
            def recorded(self, run: str, line: EventLine | IntentLine) -> None:
                if isinstance(line, EventLine) and isinstance(line.event, ev.ToolReturned):
                    engine.stop(run, "enough")

        async def wait(call: object) -> str:
            await asyncio.sleep(3600)
            return "never"

        rig.tools.add("wait", wait)
        rig.observer = StopWhenMade()
        engine = rig.engine(ScriptedProvider([reply(make_list("a", "x"), call("wait"))]))
        state = await engine.start("run", rig.spec(kind="deliver"))
        assert state.status == "cancelled"
        assert [ref.id for ref in rig.deliverable(state).artifacts] == ["a"]
        assert unpaired(state.history) == []
        assert (await rig.replay()).identical
