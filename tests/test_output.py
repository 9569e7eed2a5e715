"""Outputs of agents: types, unions, functions and checks, and the values that runs return."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_validator
from typing_extensions import TypedDict

from artificer import (
    Agent,
    AuthorError,
    Config,
    Limits,
    OperatorError,
    RunContext,
    ScriptedProvider,
    World,
)
from artificer.core.signals import FollowUp
from artificer.errors import ConfigError
from artificer.providers.scripted import say
from artificer.values.model import ModelFailure
from artificer.wiring.recordings import rerun_recording

DOWN = ModelFailure(code="unavailable", message="down")


class Order(BaseModel):
    """An order."""

    item: str
    count: int

    @field_validator("count")
    @classmethod
    def _some(cls, value: int) -> int:
        if value < 1:
            raise ValueError("an order has at least one item")
        return value


class Refund(BaseModel):
    order: int


@dataclass
class Point:
    x: int
    y: int


class Size(TypedDict):
    width: int


TEA = '{"item": "tea", "count": 2}'
NONE = '{"item": "tea", "count": 0}'


def sent_back(provider: ScriptedProvider, number: int = 1) -> Any:
    """The last message of a request: what was wrong with the reply before."""
    return json.loads(provider.requests[number]["messages"][-1]["blocks"][0]["text"])


@pytest.mark.req("output-value")
@pytest.mark.parametrize(
    ("output", "reply", "value"),
    [
        (Order, TEA, Order(item="tea", count=2)),
        (Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (Size, '{"width": 3}', {"width": 3}),
        (list[Point], '[{"x": 1, "y": 2}]', [Point(1, 2)]),
        (int, "5", 5),
        ({"type": "integer"}, "5", 5),
        (Order | Refund, '{"Refund": {"order": 7}}', Refund(order=7)),
        (Order | Refund, '{"Order": ' + TEA + "}", Order(item="tea", count=2)),
        (list[Point] | None, '{"none": null}', None),
        (list[Point] | None, '{"list_Point": [{"x": 1, "y": 2}]}', [Point(1, 2)]),
    ],
)
async def test_the_output_is_the_value(output: Any, reply: str, value: Any) -> None:
    async with World.in_memory() as world:
        run = await Agent(ScriptedProvider([say(reply)]), output=output).run("Go.", world=world)
        assert run.output == value and type(run.output) is type(value)
        assert (await world.get(run.id)).output == json.loads(reply), "without the agent: JSON"
        assert (await world.archive.replay(run.id)).identical


@pytest.mark.req("output-value")
async def test_a_run_without_an_output_type_has_its_text(tmp_path: Path) -> None:
    async with World.open(Config(home=tmp_path)) as world:
        run = await Agent(ScriptedProvider([say("Hello.")]), kind="chat").run("Hi.", world=world)
        assert run.output == "Hello."
        with pytest.raises(OperatorError, match="ended in a text"):
            run.output_as(Order)
        stalled = await Agent(ScriptedProvider([DOWN])).run("Hi.", world=world)
        with pytest.raises(
            OperatorError,
            match=r"is stalled and has no output: .* \(\w+\)\.",
        ):
            _ = stalled.output


@pytest.mark.req("output-value")
async def test_resuming_and_following_up_return_the_value_too(tmp_path: Path) -> None:
    script = ScriptedProvider([DOWN, say(TEA), say('{"item": "ink", "count": 1}')])
    agent = Agent(script, output=Order)
    async with World.open(Config(home=tmp_path)) as world:
        stalled = await agent.run("Two teas.", world=world)
        run = await agent.resume(stalled, world=world)
        assert run.output == Order(item="tea", count=2)
        assert (await agent.resume(run, world=world)).output == run.output, "it is finished"
        assert (await agent.follow_up(run, "Ink.", world=world)).output.item == "ink"
        changed = Agent(script, output=Refund)
        with pytest.raises(ConfigError, match="has changed"):
            await changed.resume(run, world=world)


@pytest.mark.req("output-validators")
@pytest.mark.parametrize(
    ("output", "wrong", "right", "place"),
    [
        (Order, NONE, TEA, "/count"),
        (list[Order], f"[{TEA}, {NONE}]", "[]", "/1/count"),
        (Order | Refund, f'{{"Order": {NONE}}}', '{"Refund": {"order": 1}}', "/Order/count"),
        (dict[str, Order | Refund], f'{{"a": {NONE}}}', "{}", "/a/count"),
    ],
)
async def test_what_a_validator_refuses_goes_back_with_its_place(
    output: Any, wrong: str, right: str, place: str
) -> None:
    provider = ScriptedProvider([say(wrong), say(right)])
    async with World.in_memory() as world:
        run = await Agent(provider, output=output).run("Go.", world=world)
        assert run.status == "completed"
        problems = sent_back(provider)["problems"]
        found = {one["pointer"]: one["message"] for one in problems}
        assert "at least one item" in found[place]


@pytest.mark.req("output-validators")
async def test_after_the_last_repair_the_run_has_failed() -> None:
    agent = Agent(ScriptedProvider([say(NONE)] * 2), output=Order, limits=Limits(repairs=1))
    async with World.in_memory() as world:
        run = await agent.run("Go.", world=world)
        assert (run.status, run.reason) == ("failed", "repair_limit")
        with pytest.raises(OperatorError, match="is failed and has no output"):
            _ = run.output


@pytest.mark.req("output-union")
async def test_a_union_is_an_object_whose_one_member_names_the_type() -> None:
    wrong = '{"Order": ' + TEA + ', "Refund": {"order": 1}}'
    provider = ScriptedProvider([say(wrong), say('{"Bill": 1}'), say('{"Refund": {"order": 1}}')])
    async with World.in_memory() as world:
        run = await Agent(provider, output=Order | Refund).run("Go.", world=world)
        assert run.output == Refund(order=1) and provider.remaining == 0
    schema = json.loads(provider.requests[0]["response_format"]["json_schema"])
    assert list(schema["properties"]) == ["Order", "Refund"] and schema["maxProperties"] == 1


@pytest.mark.req("output-union")
async def test_two_types_of_one_name_cannot_be_distinguished() -> None:
    other = type("Refund", (BaseModel,), {})
    async with World.in_memory() as world:
        with pytest.raises(AuthorError, match=r"Two types .* are named Refund"):
            await Agent(ScriptedProvider([]), output=Refund | other).run("Go.", world=world)


def distance(start: Point, end: Point, scale: int = 1) -> float:
    """Measure the way between two points."""
    if scale < 1:
        raise ValueError("the scale is at least 1")
    return scale * ((start.x - end.x) ** 2 + (start.y - end.y) ** 2) ** 0.5


async def later(item: str) -> str:
    """Order an item."""
    await asyncio.sleep(0)
    if item == "wine":
        raise ValueError("we have no wine")
    return item.upper()


WAY = '{"start": {"x": 0, "y": 0}, "end": {"x": 3, "y": 4}, "scale": %d}'


@pytest.mark.req("output-function")
@pytest.mark.parametrize(
    ("function", "wrong", "message", "right", "value"),
    [
        (distance, WAY % 0, "the scale is at least 1", WAY % 2, 10.0),
        (later, '{"item": "wine"}', "we have no wine", '{"item": "tea"}', "TEA"),
    ],
)
async def test_a_function_gets_the_members_and_returns_the_output(
    function: Callable[..., Any], wrong: str, message: str, right: str, value: Any, tmp_path: Path
) -> None:
    provider = ScriptedProvider([say(wrong), say(right)])
    agent = Agent(provider, output=function)
    async with World.open(Config(home=tmp_path)) as world:
        run = await agent.run("Go.", world=world)
        assert run.output == value
        assert sent_back(provider)["problems"] == [{"pointer": "", "message": message}]
        assert (await world.get(run.id)).output == json.loads(right)
        assert (await agent.resume(run, world=world)).output == value, "it is called again"
        replayed = await world.archive.replay(run.id)
        assert (replayed.identical, replayed.drift, replayed.replies_unchecked) == (True, [], 2)
        assert await rerun_recording(await world.archive.export_run(run.id), world.config) == []
    schema = json.loads(provider.requests[0]["response_format"]["json_schema"])
    assert (schema["title"], schema["description"]) == (function.__name__, function.__doc__)


@pytest.mark.req("output-function")
async def test_a_function_is_called_once_for_a_reply_and_in_a_thread() -> None:
    threads: list[str] = []

    def order(item: str) -> str:
        threads.append(threading.current_thread().name)
        return item

    async with World.in_memory() as world:
        agent = Agent(ScriptedProvider([say('{"item": "tea"}')]), output=order)
        assert (await agent.run("Go.", world=world)).output == "tea"
    assert len(threads) == 1 and threads != [threading.main_thread().name]


@pytest.mark.req("output-function")
@pytest.mark.parametrize(
    "function", [lambda *items: items, lambda: 1, len, lambda item: (yield item), partial(later)]
)
async def test_a_function_without_named_parameters_is_refused(function: Any) -> None:
    async with World.in_memory() as world:
        with pytest.raises(AuthorError):
            await Agent(ScriptedProvider([]), output=function).run("Go.", world=world)
        assert await world.archive.runs() == []


SHELF: dict[str, int] = {}


def price(item: str) -> int:
    """Return what an item costs."""
    return SHELF[item]


class Shelved(BaseModel):
    item: str

    @field_validator("item")
    @classmethod
    def there(cls, item: str) -> str:
        return item if SHELF[item] else ""


async def looked_up(text: str) -> int:
    return SHELF[json.loads(text)["item"]]


def stopped(_text: str) -> int:
    return SHELF["tea"] if SHELF else next(iter(()))


async def gave_up(_text: str) -> int:
    if not SHELF:
        raise asyncio.CancelledError
    return SHELF["tea"]


@pytest.mark.req("output-code-breaks")
@pytest.mark.parametrize(
    ("broken", "name", "said", "output"),
    [
        ({"output": price}, "price", "KeyError", 7),
        ({"output": Shelved}, "Shelved", "in Shelved.there at .*KeyError|KeyError.*there at", None),
        ({"check": looked_up}, "looked_up", "KeyError", 7),
        ({"check": stopped}, "stopped", "StopIteration", 7),
        ({"check": gave_up}, "gave_up", "CancelledError", 7),
    ],
)
async def test_a_reply_is_checked_again_once_the_code_that_broke_is_fixed(
    broken: dict[str, Any], name: str, said: str, output: Any, tmp_path: Path
) -> None:
    SHELF.clear()
    provider = ScriptedProvider([say('{"item": "tea"}'), DOWN])
    agent = Agent(provider, **broken)
    async with World.open(Config(home=tmp_path)) as world:
        for _ in range(2):  # it breaks as often as it is resumed before it is fixed
            with pytest.raises(AuthorError, match=said) as raised:
                async with asyncio.timeout(120):
                    await (
                        world.resume("x", agent)
                        if await world.archive.runs()
                        else agent.run("Go.", world=world, run_id="x")
                    )
            assert name in str(raised.value) and f"{Path(__file__).name}:" in str(raised.value)
            assert "resume the run" in str(raised.value.hint)
            run = await world.get("x")
            assert (run.status, run.text) == ("open", '{"item": "tea"}')
            why = await world.archive.explain("x")
            assert "waits for the agent's own code" in why.why
            assert (await world.archive.replay("x")).identical
        SHELF["tea"] = 7
        run = await world.resume("x", agent)
        assert run.status == "completed"
        assert run.output == (output or Shelved(item="tea")) and len(provider.requests) == 1
        assert (await world.archive.replay("x")).identical
        assert (await world.archive.verify()).problems == []
        assert await rerun_recording(await world.archive.export_run("x"), world.config) == []


@pytest.mark.req("output-code-breaks")
async def test_a_reply_whose_check_was_cut_off_is_kept(tmp_path: Path) -> None:
    began, done = asyncio.Event(), list[str]()

    async def slow(text: str) -> None:
        if not began.is_set():
            began.set()
            await asyncio.Event().wait()
        done.append(text)

    provider = ScriptedProvider([say("One.")])
    agent = Agent(provider, check=slow)
    async with World.open(Config(home=tmp_path)) as world:
        task = asyncio.create_task(agent.run("Go.", world=world, run_id="x"))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await world.resume("x", agent)).output == "One."
    assert done == ["One."] and len(provider.requests) == 1


@pytest.mark.req("output-code-breaks")
async def test_a_run_whose_check_breaks_can_be_cancelled_and_forked(tmp_path: Path) -> None:
    SHELF.clear()
    agent = Agent(ScriptedProvider([say('{"item": "tea"}'), say('{"item": "tea"}')]), output=price)
    async with World.open(Config(home=tmp_path)) as world:
        with pytest.raises(AuthorError):
            await agent.run("Go.", world=world, run_id="x")
        SHELF["tea"] = 7
        assert (await world.fork("x", agent)).output == 7
        assert (await world.cancel("x")).status == "cancelled"
        assert (await world.archive.replay("x")).identical


def short(text: str) -> str:
    """Accept a short text, without its spaces."""
    if len(text) > 10:
        raise ValueError(f"{len(text)} characters, at most 10")
    return text.strip()


@pytest.mark.req("output-check")
async def test_a_text_that_its_check_rejects_goes_back(tmp_path: Path) -> None:
    provider = ScriptedProvider([say("A long answer."), say(" Short. "), say("Again. "), DOWN])
    agent = Agent(provider, check=short)
    async with World.open(Config(home=tmp_path)) as world:
        run = await agent.run("Go.", world=world)
        assert (run.output, run.text) == ("Short.", " Short. ")
        wrong = sent_back(provider)
        assert wrong["status"] == "invalid" and "14 characters" in wrong["problems"][0]["message"]
        replayed = await world.archive.replay(run.id)
        assert (replayed.identical, replayed.drift, replayed.replies_unchecked) == (True, [], 2)
        assert await rerun_recording(await world.archive.export_run(run.id), world.config) == []
        assert (await agent.follow_up(run, "More.", world=world)).output == "Again."
        stalled = await agent.run("Go.", world=world)
        for other in (Agent(provider, kind="chat"), Agent(provider, check=later)):
            with pytest.raises(ConfigError, match=r"are checked by .*short"):
                await other.resume(stalled, world=world)


@pytest.mark.req("output-check")
async def test_a_text_that_never_passes_is_not_delivered() -> None:
    agent = Agent(ScriptedProvider([say("x" * 11)] * 2), check=short, limits=Limits(repairs=1))
    async with World.in_memory() as world:
        run = await agent.run("Go.", world=world)
        assert (run.status, run.reason) == ("failed", "repair_limit")
        assert run.deliverable is not None and "does not pass its check" in run.deliverable.note


@pytest.mark.req("output-check")
async def test_a_rejection_that_fails_to_say_why_goes_back_all_the_same() -> None:
    class OddError(ValueError):
        def __str__(self) -> str:
            raise KeyError("reason")

    def never(_: str) -> None:
        raise OddError

    provider = ScriptedProvider([say("Hello.")] * 2)
    async with World.in_memory() as world:
        await Agent(provider, check=never, limits=Limits(repairs=1)).run("Go.", world=world)
    assert "(no text)" in str(provider.requests[-1])


@pytest.mark.req("output-check")
async def test_a_check_gets_the_value_of_the_output_type() -> None:
    async def cheap(order: Order) -> None:
        if order.count > 9:
            raise AssertionError("at most 9")

    provider = ScriptedProvider([say('{"item": "tea", "count": 10}'), say(TEA)])
    async with World.in_memory() as world:
        run = await Agent(provider, output=Order, check=cheap).run("Go.", world=world)
        assert run.output == Order(item="tea", count=2), "None leaves the value as it is"
        assert sent_back(provider)["problems"][0]["message"] == "at most 9"


class Moderator:
    """A check that is an object."""

    async def __call__(self, text: str) -> None:
        await refuse_secrets(text)


async def refuse_secrets(text: str) -> None:
    await asyncio.sleep(0)
    if "secret" in text:
        raise ValueError("no secrets")


@pytest.mark.req("output-check")
@pytest.mark.parametrize("check", [lambda text: refuse_secrets(text), Moderator()])
async def test_what_a_check_returns_is_awaited(check: Any) -> None:
    provider = ScriptedProvider([say("The secret is 42."), say("I cannot say.")])
    async with World.in_memory() as world:
        run = await Agent(provider, check=check).run("Go.", world=world)
    assert run.output == "I cannot say."
    assert sent_back(provider)["problems"][0]["message"] == "no secrets"


def one_by_one(item: str) -> Iterator[str]:
    yield item


@pytest.mark.req("output-check")
@pytest.mark.parametrize(
    "wrong",
    [
        {"check": 5},
        {"check": one_by_one},
        {"check": short, "kind": "deliver"},
    ],
)
def test_a_check_is_a_function_of_a_chat(wrong: Any) -> None:
    with pytest.raises(AuthorError):
        Agent(**wrong)


@pytest.mark.req("output-check")
async def test_follow_ups_in_the_world_are_checked_as_well() -> None:
    provider = ScriptedProvider([say("One."), say("x" * 11), say("Two.")])
    agent = Agent(provider, check=short)
    async with World.in_memory() as world:
        run = await agent.run("Go.", world=world)
        await world.send(run.id, FollowUp(text="More."))
        assert (await world.resume(run.id, agent)).output == "Two."


@pytest.mark.req("output-union")
async def test_a_list_of_types_is_answered_with_the_union_to_write() -> None:
    agent: Agent[Any] = Agent(ScriptedProvider([]), output=[Order, Point])  # type: ignore[arg-type]
    with pytest.raises(AuthorError) as caught:
        await agent.run("Which?", world=World.in_memory())
    assert caught.value.hint == "Write a union: output=Order | Point"
    agent = Agent(ScriptedProvider([]), output=[Order, short])  # type: ignore[arg-type]
    with pytest.raises(AuthorError) as caught:
        await agent.run("Which?", world=World.in_memory())
    assert "a parameter of it can be a union" in (caught.value.hint or "")


@pytest.mark.req("output-function")
async def test_a_function_with_a_context_is_answered_with_the_way_to_objects() -> None:
    def book(ctx: RunContext[str], number: int) -> str:
        """Book a table."""
        return f"{ctx.deps} {number}"

    agent = Agent(ScriptedProvider([]), output=book)
    with pytest.raises(AuthorError, match="book has no JSON Schema") as caught:
        await agent.run("Which?", world=World.in_memory())
    assert "\n" not in caught.value.message and "arbitrary_types" not in caught.value.message
    assert "no RunContext" in (caught.value.hint or "")
