"""Runs that end in JSON: what goes back, what is accepted, and how it ends when nothing fits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from artificer import AuthorError, Config, OperatorError, ResponseFormat, ScriptedProvider, World
from artificer.agent import Agent
from artificer.contracts.definition import ToolDefinition, toolset
from artificer.contracts.response_format import format_of
from artificer.core import events as ev
from artificer.core.gate import judge
from artificer.core.policy import Policy
from artificer.core.signals import FollowUp
from artificer.core.spec import Limits
from artificer.core.state import RunState
from artificer.errors import ConfigError
from artificer.providers.scripted import call, reply, say
from artificer.testing.rig import Rig
from artificer.values.blocks import ToolUseBlock
from artificer.values.model import ModelFailure, ModelReply
from artificer.wiring.recordings import rerun_recording
from schemas import required_object

PERSON: Any = {
    "title": "A person!",
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "born": {"type": "integer"},
        "died": {"type": "integer"},
    },
    "required": ["name", "born"],
    "additionalProperties": False,
}
ADA = '{"name": "Ada", "born": 1815}'


async def ask(rig: Rig, *answers: ModelReply, schema: Any = PERSON, **facts: Any) -> RunState:
    provider = ScriptedProvider(list(answers))
    state = await rig.run(provider, response_format=format_of(schema), **facts)
    assert provider.remaining == 0
    assert {body["response_format"]["json_schema"] for body in provider.requests} == {
        json.dumps(schema)
    }
    replayed = await rig.replay()
    assert replayed.identical and replayed.drift == []
    return state


async def told(rig: Rig) -> list[Any]:
    checks = [e for e in await rig.events() if isinstance(e, ev.ReplyChecked)]
    return [json.loads(check.request) for check in checks if check.request is not None]


@pytest.mark.req("response-format")
class TestRuns:
    async def test_what_fits_is_the_output(self) -> None:
        rig = Rig()
        state = await ask(rig, say(f"\n{ADA}\n"))
        assert (state.status, state.reason, state.narrative) == ("completed", "done", ADA)
        assert await told(rig) == [] and state.repairs == 0

    async def test_all_violations_go_back_at_once(self) -> None:
        rig = Rig()
        bad = '{"name": "", "died": "later", "job": 1}'
        state = await ask(rig, say(bad), say(ADA))
        (request,) = await told(rig)
        assert [p["pointer"] for p in request["problems"]] == ["/born", "/died", "/job", "/name"]
        assert "4 problems" in request["detail"]
        assert state.status == "completed" and state.findings == () and state.repairs == 1

    @pytest.mark.parametrize(
        "text", [f"Here you are: {ADA}", f"```json\n{ADA}\n```", ADA[:-1], "", ADA + ADA]
    )
    async def test_words_around_the_json_are_not_guessed_away(self, text: str) -> None:
        rig = Rig()
        state = await ask(rig, say(text), say(ADA))
        (request,) = await told(rig)
        assert "not valid JSON" in request["problems"][0]["message"]
        assert state.narrative == ADA

    async def test_after_the_last_round_the_run_has_failed_and_says_why(self) -> None:
        rig = Rig()
        state = await ask(rig, *[say('{"born": 1}')] * 3, limits=Limits(repairs=2))
        assert (state.status, state.reason) == ("failed", "repair_limit")
        body = rig.deliverable(state)
        assert "not the JSON that was asked for" in body.note
        assert [(f.code, f.subject) for f in body.findings] == [("schema", "/name")]
        assert body.narrative == '{"born": 1}', "what the model said last is not hidden"

    async def test_at_the_turn_limit_too(self) -> None:
        rig = Rig()
        state = await ask(rig, say("Hm."), limits=Limits(turns=1))
        assert (state.status, state.reason) == ("failed", "turn_limit")
        assert [f.subject for f in rig.deliverable(state).findings] == ["the reply"]

    async def test_what_was_cut_off_is_no_output_even_if_it_reads_as_json(self) -> None:
        rig = Rig()
        state = await ask(rig, say("12", stop="max_tokens"), schema={"type": "integer"})
        assert (state.status, state.reason) == ("failed", "output_limit")
        assert "cut off" in rig.deliverable(state).note

    async def test_a_refusal_is_no_output(self) -> None:
        state = await ask(Rig(), say("I will not.", stop="refusal"))
        assert (state.status, state.reason) == ("failed", "refused")

    async def test_a_null_for_what_is_left_out_is_no_violation(self) -> None:
        """Strict modes have every member required: what is optional becomes nullable."""
        state = await ask(Rig(), say('{"name": "Ada", "born": 1815, "died": null}'))
        assert state.narrative == ADA

    async def test_a_null_elsewhere_is_one(self) -> None:
        rig = Rig()
        await ask(rig, say('{"name": null, "born": 1815, "died": null}'), say(ADA))
        assert {p["pointer"] for p in (await told(rig))[0]["problems"]} >= {"/name"}

    @pytest.mark.parametrize(
        ("schema", "text"),
        [
            ({"type": "array", "items": {"type": "integer"}}, "[1, 2]"),
            ({"oneOf": [{"type": "null"}, {"type": "string"}]}, "null"),
            ({}, '"anything"'),
        ],
    )
    async def test_any_json_value_can_be_asked_for(self, schema: Any, text: str) -> None:
        state = await ask(Rig(), say(text), schema=schema)
        assert (state.status, state.narrative) == ("completed", text)

    async def test_tools_come_first(self) -> None:
        async def find(_: Any) -> str:
            return "1815"

        rig = Rig()
        rig.tools.add("find", find)
        state = await ask(rig, reply(call("find")), say(ADA))
        assert state.status == "completed" and len(rig.tools.calls) == 1

    async def test_a_follow_up_ends_in_json_as_well(self) -> None:
        rig = Rig()
        await ask(rig, say(ADA))
        await rig.signals.post("run", FollowUp(by="a", text="And now?").canonical())
        state = await rig.resume([say("Well."), say('{"name": "Bo", "born": 2}')])
        assert state.status == "completed" and state.narrative == '{"name": "Bo", "born": 2}'


class Person(BaseModel):
    name: str
    born: int
    died: int | None = None


@dataclass
class Point:
    x: float
    y: float


@pytest.mark.req("response-format")
class TestPrograms:
    async def test_a_type_goes_in_and_comes_out(self, tmp_path: Path) -> None:
        async with World.open(Config(home=tmp_path)) as world:
            run = await world.run("Who?", Agent(model=ScriptedProvider([say(ADA)]), output=Person))
            assert run.output == run.output_as(Person) == Person(name="Ada", born=1815)
            again = await world.resume(run.id)
            assert again.output == {"name": "Ada", "born": 1815}, "without its type, it is JSON"
            with pytest.raises(AuthorError):
                run.output_as(Point)

    async def test_without_one_there_is_none(self, tmp_path: Path) -> None:
        async with World.open(Config(home=tmp_path)) as world:
            plain = await world.run("Who?", Agent(model=ScriptedProvider([say(ADA)]), kind="chat"))
            assert plain.output == ADA
            with pytest.raises(OperatorError, match="ended in a text"):
                plain.output_as(Person)
            failed = await world.run(
                "Where?",
                Agent(
                    model=ScriptedProvider([say("Here.")] * 2),
                    output=Point,
                    limits=Limits(repairs=1),
                ),
            )
            with pytest.raises(OperatorError, match="is failed and has no output: The last reply"):
                _ = failed.output


@pytest.mark.req("response-format-checked")
class TestBeforeTheRun:
    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"type": "nothing"}, "not a usable JSON Schema"),
            ({"$ref": "https://example.org/x"}, "not a usable JSON Schema"),
            ({"type": "string", "pattern": "(?=a)"}, "not a usable JSON Schema"),
            ({"description": "x" * 100_001}, "at most 100000 bytes"),
            ({"maximum": float("nan")}, "no canonical JSON"),
            (ResponseFormat(json_schema="["), "is a JSON object"),
            (ScriptedProvider, "has no JSON Schema"),
            (ResponseFormat(json_schema="{}", strict=True), "strict modes cannot express"),
        ],
    )
    async def test_what_cannot_be_used_is_refused(
        self, tmp_path: Path, asked: Any, said: str
    ) -> None:
        async with World.open(Config(home=tmp_path)) as world:
            with pytest.raises(AuthorError, match=said):
                await world.run("Go.", Agent(model=ScriptedProvider([]), output=asked))
            assert await world.archive.runs() == []

    async def test_a_report_is_no_json(self, tmp_path: Path) -> None:
        async with World.open(Config(home=tmp_path)) as world:
            with pytest.raises(AuthorError, match="not in JSON"):
                await world.run(
                    "Go.", Agent(kind="deliver", model=ScriptedProvider([]), output=PERSON)
                )

    def test_a_schemas_title_names_it(self) -> None:
        assert format_of(PERSON).name == "A-person"
        assert format_of(Person).name == "Person" and format_of({}).name == "reply"

    def test_strict_is_for_what_every_strict_mode_can_say(self) -> None:
        asked = format_of(PERSON).replace(strict=True)
        assert format_of(asked) == asked


class Day(BaseModel):
    day: date
    guests: int

    @field_validator("guests")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("guests come in pairs")
        return value


FEBRUARY = '{"day": "2026-02-31", "guests": 3}'
MARCH = '{"day": "2026-03-01", "guests": 4}'


class Broken(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _broken(cls, value: str) -> str:
        raise KeyError(value)


@pytest.mark.req("response-format-type")
class TestTypes:
    async def test_what_the_type_refuses_goes_back_to_the_model(self, tmp_path: Path) -> None:
        async with World.open(Config(home=tmp_path)) as world:
            provider = ScriptedProvider([say(FEBRUARY), say(MARCH)])
            run = await world.run("When?", Agent(model=provider, output=Day))
            assert run.output_as(Day) == Day(day=date(2026, 3, 1), guests=4)
            told = json.dumps(provider.requests[1]["messages"][-1])
            assert "/day" in told and "/guests" in told and "guests come in pairs" in told
            replayed = await world.archive.replay(run.id)
            assert (replayed.identical, replayed.drift, replayed.replies_unchecked) == (True, [], 2)
            assert await rerun_recording(await world.archive.export_run(run.id), world.config) == []

    async def test_again_and_again_fails_the_run(self, tmp_path: Path) -> None:
        async with World.open(Config(home=tmp_path)) as world:
            provider = ScriptedProvider([say(FEBRUARY)] * 3)
            limits = Limits(repairs=2)
            run = await world.run("When?", Agent(model=provider, output=Day, limits=limits))
            assert run.status == "failed" and "not the JSON" in run.deliverable.note

    async def test_who_resumes_or_forks_it_gives_the_type_again(self, tmp_path: Path) -> None:
        down = ModelFailure(code="unavailable", message="down")
        async with World.open(Config(home=tmp_path)) as world:
            first = ScriptedProvider([say(FEBRUARY), down])
            run = await world.run("When?", Agent(model=first, output=Day))
            for again in (world.resume, world.fork):
                with pytest.raises(ConfigError, match=r"Day, which is missing"):
                    await again(run.id, Agent(model=ScriptedProvider([]), kind="chat"))
                with pytest.raises(ConfigError, match="has changed"):
                    await again(run.id, Agent(model=ScriptedProvider([]), output=Person))
                script = ScriptedProvider([say(FEBRUARY), say(MARCH)])
                done = await again(run.id, Agent(model=script, output=Day))
                assert done.status == "completed" and script.remaining == 0

    async def test_a_validator_that_breaks_is_its_authors_and_leaves_the_run(
        self, tmp_path: Path
    ) -> None:
        async with World.open(Config(home=tmp_path)) as world:
            script = ScriptedProvider([say('{"name": "Ada"}')])
            with pytest.raises(AuthorError, match="Broken"):
                await world.run("Who?", Agent(model=script, output=Broken), run_id="x")
            assert (await world.get("x")).status == "open"


@pytest.mark.req("schema-formats")
class TestFormats:
    async def test_a_format_is_a_rule(self) -> None:
        rig = Rig()
        members = {"day": {"type": "string", "format": "date"}, "odd": {"format": "of-our-own"}}
        asked = format_of({"type": "object", "properties": members})
        provider = ScriptedProvider([say('{"day": "2026-02-31"}'), say('{"day": "2026-03-01"}')])
        state = await rig.run(provider, response_format=asked)
        assert state.status == "completed" and state.narrative == '{"day": "2026-03-01"}'
        told = json.dumps(provider.requests[1]["messages"][-1])
        assert "does not have the format" in told and "/day" in told
        assert (await rig.replay()).drift == []

    def test_of_arguments_too_unless_a_function_types_them(self) -> None:
        schema = required_object(day={"type": "string", "format": "date"})
        verdicts = []
        for backend in ("mcp", "function"):
            tool = ToolDefinition(name="t", description="", backend=backend, input_schema=schema)
            use = ToolUseBlock(id="c", name="t", arguments='{"day": "2026-02-31"}')
            (verdict,) = judge(
                (use,), toolset=toolset((tool,)), policy=Policy(), made=(), limit=9, stop="tool_use"
            )
            verdicts.append(verdict.verdict)
        assert verdicts == ["invalid", "allow"]

    async def test_runs_that_began_before_go_on_as_they_did(self) -> None:
        rig = Rig()
        asked = format_of({"properties": {"day": {"type": "string", "format": "date"}}})
        state = await rig.run([say('{"day": "never"}')], response_format=asked, rules=1)
        assert state.status == "completed"
        assert (await rig.replay()).drift == []
