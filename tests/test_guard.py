"""Guarded tools: the calls of any program pass the gate and never repeat silently."""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE
from typing import Annotated, Any, NewType

import pytest

import preloaded
from artificer import (
    Answer,
    AnswerCall,
    Limits,
    Policy,
    Question,
    Resolve,
    Rule,
    RunContext,
    World,
    tool,
)
from artificer.errors import (
    AmbiguousCallError,
    AuthorError,
    DeniedCallError,
    FailedCallError,
    InvalidCallError,
    NotFoundError,
    OperatorError,
    ToolDefinitionError,
    WaitingCallError,
)
from artificer.guard.guarded import Guarded, RecordedRuns
from artificer.runs import Run
from artificer.storage.blobs import MemoryStore

HERE = Path(__file__).parent
ASK = Policy(rules=(Rule(decision="ask", tool="charge"),))
DENY = Policy(rules=(Rule(decision="deny", tool="charge", reason="Not today."),))


Number = NewType("Number", str)


def maybe(text: str) -> str | None:
    """Return the text, or nothing."""
    return text or None


def noted(text: str) -> Annotated[str, "a note"]:
    """Return the text."""
    return text


def numbered(text: str) -> Number:
    """Return the text."""
    return Number(text)


def counted(text: str) -> int | None:
    """Return how long the text is."""
    return len(text) or None


class Shop:
    """A shop that counts its charges."""

    def __init__(self) -> None:
        self.charged: list[str] = []
        self.hang = False
        self.hanging = asyncio.Event()

        @tool(effect="once")
        async def charge(order: str) -> str:
            """Charge for an order."""
            self.charged.append(order)
            if self.hang:
                self.hanging.set()
                await asyncio.Event().wait()
            return f"charged {order}"

        @tool(effect="pure")
        async def prices(of: list[str]) -> dict[str, int]:
            """Return prices."""
            return {name: len(name) for name in of}

        async def fail(why: str = "no reason") -> None:
            """Fail."""
            raise ValueError(why)

        self.tools = [charge, prices, fail]


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def world() -> Iterator[World]:
    return World.in_memory()


@pytest.mark.req("guard-gate")
class TestTheGate:
    async def test_a_call_returns_its_result_and_is_recorded(
        self, world: World, shop: Shop
    ) -> None:
        async with world.guard(shop.tools, key="order-42") as guarded:
            assert await guarded.call("charge", {"order": "A"}) == "charged A"
            assert await guarded.call("prices", '{"of": ["tea"]}') == {"tea": 3}
            assert await guarded["prices"](["milk"]) == {"milk": 4}
        run = await world.get("order-42")
        assert run.status == "completed"
        assert [c.name for m in run.state.history for c in m.calls] == [
            "charge",
            "prices",
            "prices",
        ]
        assert (await world.archive.replay("order-42")).divergence is None
        assert (await world.archive.verify()).problems == []

    @pytest.mark.parametrize("key", ["order 42", "", None])
    def test_a_key_that_cannot_be_an_id_is_refused_at_once(
        self, world: World, shop: Shop, key: Any
    ) -> None:
        with pytest.raises(AuthorError, match="cannot be the id of a run") as caught:
            world.guard(shop.tools, key=key)
        assert "letters, digits" in str(caught.value.hint)

    async def test_a_text_stays_a_text(self, world: World) -> None:
        async with world.guard([maybe, noted, numbered, counted], key="k") as guarded:
            for name in ("maybe", "noted", "numbered"):
                for text in ("123", "true", '{"a":1}', "1e5", "hello"):
                    assert await guarded.call(name, {"text": text}) == text
            assert await guarded.call("maybe", {"text": ""}) is None
            assert await guarded.call("counted", {"text": "abc"}) == 3
            assert await guarded.call("counted", {"text": ""}) is None

    async def test_calls_made_together_run_together(self, world: World) -> None:
        meeting = asyncio.Barrier(3)

        async def meet(who: int) -> int:
            """Wait for the others."""
            await meeting.wait()
            return who

        async with world.guard(meet, key="k") as guarded:
            calls = [guarded.call("meet", {"who": n}) for n in range(3)]
            assert await asyncio.wait_for(asyncio.gather(*calls), 10) == [0, 1, 2]

    async def test_two_equal_calls_both_run(self, world: World, shop: Shop) -> None:
        async with world.guard(shop.tools, key="k") as guarded:
            await asyncio.gather(*[guarded.call("charge", {"order": "A"}) for _ in range(2)])
        assert shop.charged == ["A", "A"]

    async def test_what_may_not_run_is_an_error_with_all_problems(
        self, world: World, shop: Shop
    ) -> None:
        async with world.guard(shop.tools, key="k", policy=DENY) as guarded:
            with pytest.raises(InvalidCallError) as invalid:
                await guarded.call("prices", {"of": [1, "tea", 2], "more": True})
            assert {pointer for pointer, _ in invalid.value.problems} == {"/of/0", "/of/2", "/more"}
            with pytest.raises(InvalidCallError, match="no such tool"):
                await guarded.call("refund", {})
            with pytest.raises(InvalidCallError):
                await guarded.call("prices", '{"of": ')
            with pytest.raises(InvalidCallError, match="no JSON form"):
                await guarded.call("prices", {"of": object()})
            with pytest.raises(DeniedCallError, match="Not today"):
                await guarded.call("charge", {"order": "A"})
            with pytest.raises(FailedCallError, match="no reason"):
                await guarded["fail"]()
            assert "Not today" in str(await guarded.answer("charge", {"order": "B"}))
        assert shop.charged == []

    def test_a_function_keeps_its_name_and_parameters(self, world: World, shop: Shop) -> None:
        guarded = world.guard(shop.tools, key="k")
        assert [tool.name for tool in guarded.tools] == ["charge", "prices", "fail"]
        assert guarded["charge"].__name__ == "charge"
        assert list(inspect.signature(guarded["charge"]).parameters) == ["order"]
        with pytest.raises(NotFoundError, match="refund"):
            guarded["refund"]
        with pytest.raises(ToolDefinitionError, match="no description"):
            world.guard(lambda: None, key="k")

    async def test_a_limit_of_its_own_ends_the_run(self, world: World, shop: Shop) -> None:
        guarded = world.guard(shop.tools, key="k", limits=Limits(turns=1))
        await guarded.call("charge", {"order": "A"})
        with pytest.raises(OperatorError, match="turn_limit"):
            await guarded.call("charge", {"order": "B"})
        assert shop.charged == ["A"]


@pytest.mark.req("guard-approval")
class TestApproval:
    async def test_an_approver_answers_in_the_process(self, world: World, shop: Shop) -> None:
        class Boss:
            async def ask(self, question: Question) -> Answer:
                return Answer(approved='"A"' in question.arguments, by="boss", reason="Too much.")

        async with world.guard(shop.tools, key="k", policy=ASK, approver=Boss()) as guarded:
            assert await guarded.call("charge", {"order": "A"}) == "charged A"
            with pytest.raises(DeniedCallError, match="Too much"):
                await guarded.call("charge", {"order": "B"})
        assert shop.charged == ["A"]

    async def test_without_one_the_call_waits_and_is_made_again(
        self, world: World, shop: Shop
    ) -> None:
        async with world.guard(shop.tools, key="k", policy=ASK) as guarded:
            with pytest.raises(WaitingCallError, match="approval"):
                await guarded.call("charge", {"order": "A"})
            with pytest.raises(WaitingCallError, match="about an earlier call"):
                await guarded.call("prices", {"of": []})
            assert (await world.get("k")).status == "waiting"
            [question] = (await world.get("k")).questions
            await world.send("k", AnswerCall(call=question.digest, approved=True))
            assert await guarded.call("charge", {"order": "A"}) == "charged A"
            assert await guarded.call("prices", {"of": []}) == {}
        assert shop.charged == ["A"]


@pytest.mark.req("guard-once")
class TestAnotherProcess:
    async def test_gets_the_recorded_results(self, world: World, shop: Shop) -> None:
        for orders in ("AAB", "AAB", "AABC"):
            async with world.guard(shop.tools, key="k") as guarded:
                results = [await guarded.call("charge", {"order": order}) for order in orders]
            assert results == [f"charged {order}" for order in orders]
        assert shop.charged == ["A", "A", "B", "C"]
        assert (await world.archive.replay("k")).divergence is None

    async def test_goes_on_where_the_first_had_made_no_call_yet(
        self, world: World, shop: Shop
    ) -> None:
        first = world.guard(shop.tools, key="k")
        begun = first._running()
        await first._caller.listening.wait()
        await first.aclose()
        assert begun.cancelled()
        async with world.guard(shop.tools, key="k") as guarded, asyncio.timeout(120):
            assert await guarded.call("charge", {"order": "A"}) == "charged A"

    async def test_is_the_program_and_no_command(self, world: World, shop: Shop) -> None:
        with pytest.raises(WaitingCallError):
            async with world.guard(shop.tools, key="k", policy=ASK) as guarded:
                await guarded.call("charge", {"order": "A"})
        explained = await world.archive.explain("k")
        assert explained.next == ("artificer approve k --list", "artificer cancel k")
        with pytest.raises(NotFoundError, match="guards its tools") as caught:
            await world.resume("k")
        assert caught.value.hint == "Start that program again, with the same key."

    async def test_names_a_call_by_its_own_id(self, world: World, shop: Shop) -> None:
        async with world.guard(shop.tools, key="k") as guarded:
            for call_id in ("one", "two"):
                await guarded.call("charge", {"order": "A"}, call_id=call_id)
        async with world.guard(shop.tools, key="k") as guarded:
            await guarded.call("charge", {"order": "A"}, call_id="two")
            await guarded.call("charge", {"order": "A"}, call_id="one")
        assert shop.charged == ["A", "A"]

    async def interrupted(self, world: World, shop: Shop) -> None:
        """Leave a charge of A under way, as a process does that ends."""
        shop.hang = True
        guarded = world.guard(shop.tools, key="k")
        call = asyncio.create_task(guarded.call("charge", {"order": "A"}))
        await shop.hanging.wait()
        await guarded.aclose()
        with pytest.raises(OperatorError, match="closed"):
            await call
        shop.hang = False

    @pytest.mark.parametrize("happened", [True, False])
    async def test_an_unfinished_call_is_ambiguous_until_a_person_resolves_it(
        self, world: World, shop: Shop, happened: bool
    ) -> None:
        await self.interrupted(world, shop)
        async with world.guard(shop.tools, key="k") as guarded:
            for _ in range(2):
                with pytest.raises(AmbiguousCallError, match="may have happened") as caught:
                    await guarded.call("charge", {"order": "A"})
            assert "artificer resolve k" in str(caught.value.hint)
            assert await guarded.call("charge", {"order": "B"}) == "charged B"
            [doubt] = (await world.get("k")).doubts
        await world.send("k", Resolve(call_id=doubt.call_id, happened=happened, reason="I saw."))
        async with world.guard(shop.tools, key="k") as guarded:
            result = await guarded.call("charge", {"order": "A"})
        assert ("I saw." if happened else "charged A") in str(result)
        assert shop.charged == (["A", "B"] if happened else ["A", "B", "A"])

    async def test_a_cancelled_run_takes_no_more_calls(self, world: World, shop: Shop) -> None:
        guarded = world.guard(shop.tools, key="k")
        await guarded.call("charge", {"order": "A"})
        await guarded.aclose()
        await world.cancel("k")
        async with world.guard(shop.tools, key="k") as guarded:
            assert await guarded.call("charge", {"order": "A"}) == "charged A"
            with pytest.raises(OperatorError, match="cancelled"):
                await guarded.call("charge", {"order": "B"})

    @pytest.mark.parametrize("fails", [False, True], ids=["completed", "open"])
    async def test_a_guard_that_was_left_makes_no_more_calls(
        self, world: World, shop: Shop, fails: bool
    ) -> None:
        """Such as those of a graph that was built in its block and is used after it."""
        with suppress(ZeroDivisionError):
            async with world.guard(shop.tools, key="k") as guarded:
                await guarded.call("charge", {"order": "A"})
                charge = guarded["charge"]
                assert not fails or 1 / 0
        before = (await world.get("k")).state
        with pytest.raises(AuthorError, match="closed") as caught:
            await charge(order="B")
        assert "async with" in str(caught.value.hint)
        assert shop.charged == ["A"]
        assert (await world.get("k")).state == before
        async with world.guard(shop.tools, key="k") as guarded:
            assert await guarded.call("charge", {"order": "B"}) == "charged B"

    async def test_a_key_of_an_ordinary_run_is_refused(self, world: World, shop: Shop) -> None:
        from artificer import Agent, ScriptedProvider
        from artificer.providers.scripted import say

        await world.run("Hi.", Agent(ScriptedProvider([say("Hi.")]), kind="chat"), run_id="k")
        with pytest.raises(OperatorError, match="not a guarded run"):
            await world.guard(shop.tools, key="k").call("prices", {"of": []})


@pytest.mark.req("guard-adapters")
@pytest.mark.parametrize("library", ["pydantic_ai", "langgraph", "openai_agents"])
def test_agents_of_other_libraries_never_repeat_a_call_silently(
    library: str, tmp_path: Path
) -> None:
    command = [sys.executable, str(HERE / "guarded_agents.py"), library]
    with preloaded.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as agents:

        def exit_code(folder: Path, kill: str = "") -> int:
            places = str(folder / "home"), str(folder / "ledger"), kill, str(folder / "output")
            agents.stdin.write(f"{json.dumps(places)}\n")
            agents.stdin.flush()
            return int(agents.stdout.readline())

        for kill in ("", "A", "C"):
            folder = tmp_path / f"killed-{kill}"
            folder.mkdir()
            if kill:
                assert exit_code(folder, kill) == -signal.SIGKILL
            for _ in range(2):
                assert exit_code(folder) == 0
                assert sorted((folder / "ledger").read_text().split()) == ["A", "B", "C"]
                assert ("ambiguous" in (folder / "output").read_text()) == bool(kill)
        agents.stdin.close()


@pytest.mark.req("guard-again")
class TestAgain:
    async def test_a_start_that_fails_is_made_again_at_the_next_call(
        self, world: World, shop: Shop
    ) -> None:
        runs = RecordedRuns(world.run, world.resume, world.send, world.archive.history)
        faults = ["The storage is away.", "A secret is missing."]

        async def run(*given: Any, **more: Any) -> Run:
            if faults:
                raise OperatorError(faults.pop(0))
            return await world.run(*given, **more)

        guarded = Guarded(runs._replace(run=run), MemoryStore(), shop.tools, "order-42")
        async with guarded:
            for fault in tuple(faults):
                with pytest.raises(OperatorError, match=fault):
                    await guarded.call("charge", {"order": "A"})
            assert await guarded.call("charge", {"order": "A"}) == "charged A"
            assert await guarded.call("charge", {"order": "B"}) == "charged B"
        assert shop.charged == ["A", "B"]

    async def test_a_cancelled_close_ends_what_is_in_progress_and_is_cancelled(
        self, world: World
    ) -> None:
        hanging, ending, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def hang() -> None:
            """Hang, and end slowly."""
            hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                ending.set()
                await may_end.wait()

        guarded = world.guard([hang], key="order-42")
        calling = asyncio.create_task(guarded.call("hang"))
        await hanging.wait()
        closing = asyncio.create_task(guarded.aclose())
        await ending.wait()
        closing.cancel()
        await asyncio.sleep(0)
        assert not closing.done(), "it has not ended yet"
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await closing
        with pytest.raises(OperatorError, match="was closed while hang was under way"):
            await calling


@pytest.mark.req("guard-deps")
class TestDependencies:
    """Functions that take a RunContext first receive the dependencies of the guard."""

    @staticmethod
    async def sell(ctx: RunContext[Shop], order: str) -> str:
        """Sell it."""
        ctx.deps.charged.append(f"{ctx.run_id} {order}")
        ctx.progress("Selling")
        return f"sold {order}"

    async def test_they_are_passed_and_the_caller_passes_no_context(
        self, world: World, shop: Shop
    ) -> None:
        async with world.guard([self.sell, *shop.tools], key="order-42", deps=shop) as guarded:
            assert list(guarded.tools[0].input_schema["properties"]) == ["order"]  # type: ignore[call-overload,arg-type]
            assert list(inspect.signature(guarded["sell"]).parameters) == ["order"]
            assert await guarded["sell"]("A") == await guarded.call("sell", {"order": "A"})
            assert await guarded["sell"](order="B") == "sold B"
            assert await guarded["charge"]("C") == "charged C"
            with pytest.raises(InvalidCallError):
                await guarded.call("sell", {"order": "A", "ctx": {"deps": None}})
        assert shop.charged == ["order-42 A", "order-42 A", "order-42 B", "C"]

    async def test_they_are_passed_again_with_the_key(self, world: World, shop: Shop) -> None:
        other = Shop()
        for deps, order in ((shop, "A"), (other, "B")):
            async with world.guard(self.sell, key="order-42", deps=deps) as guarded:
                assert await guarded["sell"]("A") == "sold A"
                assert await guarded["sell"](order) == f"sold {order}"
        assert shop.charged == ["order-42 A", "order-42 A"]
        assert other.charged == ["order-42 B"]
        lines = (await world.archive.history("order-42")).lines
        assert not any(b"Shop" in line.canonical() for line in lines)

    def test_without_them_nothing_begins(self, world: World) -> None:
        with pytest.raises(ToolDefinitionError, match="needs dependencies of type Shop") as caught:
            world.guard(self.sell, key="order-42")
        assert "world.guard(…, deps=…)" in str(caught.value.hint)
