"""Python functions as tools: their schemas, their results, and their ends."""

from __future__ import annotations

import asyncio
import copy
import enum
import functools
import json
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import process_functions as functions
import pytest
from msgspec import structs
from pydantic import AfterValidator, BaseModel, Field
from tools_support import appears, standard_input, stays

from artificer.agent import Agent
from artificer.backends.function import processes
from artificer.backends.function.decorator import FunctionTool, tool
from artificer.backends.function.ended import MAX_CONTENT
from artificer.backends.function.executor import FunctionExecutor
from artificer.contracts.schema import compile_schema
from artificer.core.events import ToolReturned
from artificer.core.record import events_of
from artificer.errors import AuthorError, ConfigError, ToolDefinitionError
from artificer.ports import Call, Receipt, RunContext
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.storage.remote.blobs import MAX_BLOB
from artificer.world import World


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


class Tree(BaseModel):
    children: list[Tree] = []


class Unreadable(list[str]):
    """A list that is read from somewhere else, which fails."""

    def __iter__(self) -> Iterator[str]:
        raise OSError("the connection is closed")


def call_of(function_tool: FunctionTool[..., Any], **arguments: Any) -> Call:
    return Call("run-1", "call-1", function_tool.definition, arguments, "key-1")


async def perform(function_tool: FunctionTool[..., Any], **arguments: Any) -> Receipt:
    return await FunctionExecutor([function_tool]).execute(call_of(function_tool, **arguments))


@pytest.mark.req("function-schema")
class TestSchema:
    def test_carries_hints_constraints_defaults_and_docs(self) -> None:
        @tool(effect="pure", risk="info", timeout=2.5)
        async def paint(
            colour: Colour,
            size: Annotated[int, Field(ge=1, le=9)],
            at: Point,
            style: Literal["solid", "dotted"] = "solid",
            tags: list[str] | None = None,
        ) -> str:
            """Paint a point
            on the canvas.

            Args:
                colour: the colour
                    of the paint
                size: how large

            Returns:
                words: that are no parameter
            """
            return ""

        definition = paint.definition
        assert (definition.name, definition.effect, definition.risk) == ("paint", "pure", "info")
        assert definition.timeout_ms == 2500
        assert definition.description == "Paint a point on the canvas."
        schema: Any = definition.input_schema
        assert schema["required"] == ["colour", "size", "at"]
        assert schema["additionalProperties"] is False
        assert list(schema["properties"]) == ["colour", "size", "at", "style", "tags"]
        assert schema["properties"]["colour"]["description"] == "the colour of the paint"
        assert schema["properties"]["size"] == {
            "description": "how large",
            "maximum": 9,
            "minimum": 1,
            "type": "integer",
        }
        assert schema["properties"]["style"]["default"] == "solid"
        assert "$ref" not in json.dumps(schema)
        good = {"colour": "red", "size": 1, "at": {"x": 1}}
        assert compile_schema(definition.input_schema).problems(good) == ()
        assert compile_schema(definition.input_schema).problems({**good, "size": "1"})

    def test_an_unknown_member_is_refused_at_any_depth(self) -> None:
        """The function would act without it, and whoever approved the call saw it."""

        class Open(BaseModel, extra="allow"):
            x: int

        @tool
        def draw(at: Point, path: list[Point], by: dict[str, Point], free: Open) -> None:
            """Draw."""

        schema = compile_schema(draw.definition.input_schema)
        good = {"at": {"x": 1}, "path": [], "by": {"a": {"x": 2}}, "free": {"x": 1, "z": 2}}
        assert schema.problems(good) == ()
        bad = {**good, "at": {"x": 1, "z": 2}, "path": [{"x": 1, "z": 2}]}
        assert [(one.pointer, one.message) for one in schema.problems(bad)] == [
            ("/at/z", "is not a known parameter"),
            ("/path/0/z", "is not a known parameter"),
        ]

    def test_bare_decorator_leaves_a_callable(self) -> None:
        @tool
        def double(n: int) -> int:
            """Double it."""
            return 2 * n

        assert double(4) == 8
        assert double.__name__ == "double"

    def test_parameters_named_like_model_attributes(self) -> None:
        @tool
        async def odd(model_config: int, copy: int, schema: int = 1) -> int:
            """Take names that pydantic uses itself."""
            return model_config + copy + schema

        properties: Any = odd.definition.input_schema["properties"]
        assert list(properties) == ["model_config", "copy", "schema"]

    def test_no_parameters(self) -> None:
        @tool
        async def now() -> str:
            """Tell the time."""
            return ""

        assert now.definition.input_schema == {
            "type": "object",
            "properties": {},
            "additionalProperties": False,
        }


def variadic(*args: int) -> None:
    """Doc."""


def keywords(**kwargs: int) -> None:
    """Doc."""


def positional(a: int, /) -> None:
    """Doc."""


def unhinted(a) -> None:  # type: ignore[no-untyped-def]
    """Doc."""


def unknown_hint(a: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Doc."""


def no_schema(a: Callable[[], int]) -> None:
    """Doc."""


def recursive(a: Tree) -> None:
    """Doc."""


def field_default(a: int = Field(default=1)) -> None:
    """Doc."""


def undocumented(a: int) -> None:
    pass


def generator() -> Any:
    """Doc."""
    yield 1


@pytest.mark.req("function-definition-errors")
@pytest.mark.parametrize(
    "function",
    [
        variadic,
        keywords,
        positional,
        unhinted,
        unknown_hint,
        no_schema,
        recursive,
        field_default,
        undocumented,
        generator,
    ],
)
def test_unusable_function_is_named_with_its_place(function: Callable[..., Any]) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    line = function.__code__.co_firstlineno
    assert f"{function.__name__!r} ({__file__}:{line})" in str(caught.value)


@pytest.mark.req("function-definition-errors")
def test_bad_name_partial_and_clash() -> None:
    with pytest.raises(ToolDefinitionError, match="unusable name"):
        tool(name="no spaces")(documented)
    with pytest.raises(ToolDefinitionError, match="is not a function"):
        tool(functools.partial(undocumented, 1))
    one, two = tool(name="same")(documented), tool(name="same")(documented)
    with pytest.raises(ToolDefinitionError, match="Two tools"):
        FunctionExecutor([one, two])


def documented() -> None:
    """Doc."""


class Shop:
    """Has a method that is no tool where it is defined."""

    def buy(self, tea: str) -> str:
        """Buy a tea."""
        return tea


@pytest.mark.req("function-definition-errors")
@pytest.mark.parametrize(
    ("make", "said", "hint"),
    [
        (lambda: tool(effect="pur")(documented), "unusable effect", "Did you mean 'pure'?"),  # type: ignore[arg-type]
        (
            lambda: tool(timeout=0)(documented),
            "timeout: it is 0 seconds; the least is",
            "",
        ),
        (lambda: tool("look_up"), "no value by position, not 'look_up'", "@tool(name="),  # type: ignore[call-overload]
        (lambda: tool(Shop.buy), "is a method", "tools=[tool(shop.buy)]"),
    ],
)
def test_a_wrong_option_is_answered_with_the_right_one(
    make: Callable[[], object], said: str, hint: str
) -> None:
    with pytest.raises(ToolDefinitionError, match=said) as raised:
        make()
    assert hint in (raised.value.hint or "")
    assert tool(Shop().buy).definition.name == "buy"


@pytest.mark.req("door-parameters")
def test_retries_are_answered_with_what_a_function_does() -> None:
    with pytest.raises(AuthorError, match="no parameter 'retries'") as raised:
        tool(retries=2)  # type: ignore[call-overload]
    assert "Raise an exception" in (raised.value.hint or "")


class Nested(BaseModel):
    inside: list[Nested] = []


@pytest.mark.req("function-definition-errors")
@pytest.mark.parametrize(
    ("kind", "said", "hint"),
    [
        (Nested, "the type 'Nested' contains itself.", "bounded depth"),
        (Shop, "pydantic-core schema for <class '", "a RunContext|its RunContext"),
        (Callable[[], int], "core_schema.CallableSchema.", "types that JSON can express"),
    ],
)
def test_a_parameter_without_a_schema_is_refused_with_what_to_write(
    kind: Any, said: str, hint: str
) -> None:
    def buy(what: Any) -> str:
        """Buy."""
        return str(what)

    buy.__annotations__["what"] = kind
    with pytest.raises(ToolDefinitionError) as raised:
        tool(buy)
    assert said in raised.value.message and "arbitrary_types" not in raised.value.message
    assert re.search(hint, raised.value.hint or "")


@pytest.mark.req("tool-pickled")
def test_a_tool_is_pickled_by_its_name_as_a_function_is() -> None:
    look = functions.look
    assert isinstance(look, FunctionTool)
    assert pickle.loads(pickle.dumps(look)) is look
    assert copy.deepcopy([look]) == [look]
    agent = Agent("local/smollm2", tools=[look])
    assert pickle.loads(pickle.dumps(agent)) == agent


def speechless() -> Iterator[int]:
    """A result that fails to say why it cannot be written."""

    class Odd(Exception):
        def __str__(self) -> str:
            raise KeyError("status")

    yield 1
    raise Odd


@pytest.mark.req("function-results")
class TestResults:
    async def test_values_arrive_typed_and_defaults_are_the_functions_own(self) -> None:
        @tool
        async def describe(colour: Colour, at: Point, n: int = 7) -> dict[str, Any]:
            """Describe."""
            return {"colour": colour, "point": at, "kind": type(colour).__name__, "n": n}

        receipt = await perform(describe, colour="red", at={"x": 3})
        assert receipt.status == "ok"
        assert receipt.content == '{"colour":"red","kind":"Colour","n":7,"point":{"x":3,"y":0}}'

    @pytest.mark.parametrize("awaits", [True, False])
    async def test_a_result_without_a_json_form_is_no_failure_of_the_function(
        self, caplog: pytest.LogCaptureFixture, awaits: bool
    ) -> None:
        async def late() -> None:
            """Nobody awaits this."""

        @tool
        async def pay() -> Any:
            """Pay."""
            return {"paid": asyncio.ensure_future(late()) if awaits else object()}

        receipt = await perform(pay)
        kind, advice = ("Task", ": await it.") if awaits else ("object", ".")
        lost = f"The type '{kind}' of its result has no JSON form{advice}"
        assert receipt.status == "error"
        assert receipt.content == f"The function ran to its end. {lost}"
        assert lost in caplog.text

    @pytest.mark.parametrize(
        "fails",
        [b"\xff\x00", [[]], {"paid": {(1, 2): object}}, speechless(), Unreadable()],
        ids=["bytes", "circular", "type", "speechless", "list"],
    )
    async def test_neither_is_one_that_cannot_be_written(self, fails: Any) -> None:
        """A model that read of a failure would pay again."""
        if fails == [[]]:
            fails[0].append(fails)

        @tool
        def pay() -> Any:
            """Pay."""
            return fails

        receipt = await perform(pay)
        assert receipt.status == "error"
        assert receipt.content.startswith("The function ran to its end. ")
        assert "no JSON form" in receipt.content

    @pytest.mark.parametrize(
        ("result", "content"),
        [
            ("plain", "plain"),
            (None, "null"),
            (2**70, str(2**70)),
            (["ä", 1.0], '["ä",1]'),
            ("\ud800", "\ufffd"),
        ],
    )
    async def test_text_passes_and_the_rest_is_json(self, result: Any, content: str) -> None:
        @tool
        async def give() -> Any:
            """Give."""
            return result

        assert (await perform(give)).content == content

    async def test_a_long_result_is_whole_and_only_an_enormous_one_is_cut(self) -> None:
        @tool
        def long(length: int) -> str:
            """Be long."""
            return "a" * length + "z"

        assert (await perform(long, length=500_000)).content == "a" * 500_000 + "z"
        content = (await perform(long, length=MAX_CONTENT)).content
        assert len(content) < MAX_CONTENT + 100
        assert content.startswith("aaa") and content.endswith("z")
        assert "characters left out" in content

    def test_a_worker_over_http_can_store_the_longest(self) -> None:
        assert 4 * (MAX_CONTENT + 1_000) <= MAX_BLOB

    async def test_the_run_keeps_the_whole_of_a_result_that_its_model_reads_in_part(self) -> None:
        @tool(effect="pure")
        def long() -> str:
            """Be long."""
            return "".join(f"line {n}\n" for n in range(20_000))

        script = ScriptedProvider([reply(call("long")), say("Done.")])
        async with World.in_memory() as world:
            run = await world.run("Try it.", Agent(script, tools=[long], kind="chat"))
            lines = (await world.archive.history(run.id)).lines
            (event,) = (e for e in events_of(lines) if isinstance(e, ToolReturned))
            assert event.whole is not None
            whole = world.storage.blobs.get(event.whole).decode()
        assert whole == long.function()
        assert event.content.endswith(f"line 19999\n\n(the whole result is {event.whole})")
        assert "characters left out" in event.content and len(event.content) < 32_200

    @pytest.mark.parametrize("as_async", [True, False])
    async def test_an_exception_is_an_error_without_its_traceback(
        self, as_async: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail() -> None:
            """Fail."""
            raise LookupError("nothing there" + "!" * 10_000)

        async def fail_async() -> None:
            """Fail."""
            fail()

        receipt = await perform(tool(fail_async if as_async else fail))
        assert receipt.status == "error"
        assert receipt.content.startswith("LookupError: nothing there!")
        assert len(receipt.content) <= 2_000
        assert "Traceback" in caplog.text and "in fail" in caplog.text
        assert "!!!" not in caplog.text, "logs hold no contents"

    @pytest.mark.parametrize("as_async", [True, False])
    async def test_an_exception_that_fails_to_say_what_it_is_is_an_error(
        self, as_async: bool
    ) -> None:
        class Odd(Exception):
            def __str__(self) -> str:
                raise KeyError("status")

        def fail() -> None:
            """Fail."""
            raise Odd

        async def fail_async() -> None:
            """Fail."""
            raise Odd

        receipt = await perform(tool(fail_async if as_async else fail))
        assert (receipt.status, receipt.content) == ("error", "Odd: (no text)")

    @pytest.mark.parametrize("as_async", [True, False])
    async def test_sys_exit_does_not_end_the_program(self, as_async: bool) -> None:
        def leave() -> None:
            """Leave."""
            sys.exit(3)

        async def leave_async() -> None:
            """Leave."""
            sys.exit(3)

        receipt = await perform(tool(leave_async if as_async else leave))
        assert (receipt.status, receipt.content) == ("error", "SystemExit: 3")

    async def test_a_result_without_json_form_is_an_error(self) -> None:
        @tool
        async def give() -> object:
            """Give."""
            return object()

        assert (await perform(give)).status == "error"

    async def test_what_only_the_types_refuse_is_invalid(self) -> None:
        def even(n: int) -> int:
            if n % 2:
                raise ValueError("must be even")
            return n

        @tool
        async def halve(n: Annotated[int, AfterValidator(even)]) -> int:
            """Halve."""
            return n // 2

        receipt = await perform(halve, n=3)
        assert receipt.status == "invalid"
        assert json.loads(receipt.content)["problems"] == [
            {"message": "Value error, must be even", "pointer": "/n"}
        ]

    @pytest.mark.parametrize("as_async", [True, False])
    async def test_a_keyed_tool_reads_its_key(self, as_async: bool) -> None:
        def pay(amount: int, call: Call) -> str:
            """Pay."""
            return f"{call.key}:{amount}"

        async def pay_async(amount: int, call: Call) -> str:
            """Pay."""
            return f"{call.key}:{amount}"

        keyed = tool(effect="keyed")(pay_async if as_async else pay)
        properties: Any = keyed.definition.input_schema["properties"]
        assert list(properties) == ["amount"]
        assert (await perform(keyed, amount=5)).content == "key-1:5"


@pytest.mark.req("function-process")
class TestProcess:
    async def test_a_call_has_a_clean_process_and_stdin_of_its_own(self) -> None:
        functions.seen.append(0)
        with standard_input(b"not for the tool"):
            facts = json.loads((await perform(functions.look)).content)
        assert facts["pid"] == facts["session"] != os.getpid()
        assert facts["stdin"] == ""
        assert facts["seen"] == [1], "nothing of the program's memory is copied"
        assert functions.seen == [0]
        functions.seen.clear()

    async def test_what_it_prints_stays_out_of_our_output(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert (await perform(functions.speak)).content == "result"
        assert capfd.readouterr().out == ""

    async def test_a_process_that_dies_is_an_error(self) -> None:
        left, died = await perform(functions.leave, code=3), await perform(functions.die)
        assert (left.status, died.status) == ("error", "error")
        assert "exit code 3" in left.content
        assert "SIGKILL" in died.content

    async def test_an_exception_is_an_error_without_its_traceback(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        receipt = await perform(functions.fail)
        assert (receipt.status, receipt.content) == ("error", "LookupError: nothing there")
        assert "in fail" in caplog.text
        assert "nothing there" not in caplog.text, "logs hold no contents"

    async def test_it_may_use_asyncio_and_threads_itself(self) -> None:
        assert (await perform(functions.use_both)).content == "42"
        assert (await perform(functions.sleep_briefly, n=1)).content == "2"

    async def test_it_reads_its_key_and_finds_a_function_under_another_name(self) -> None:
        assert (await perform(functions.pay, amount=5)).content == "key-1:5:pay:5"
        assert (await perform(functions.doubled, n=4)).content == "8"

    async def test_nothing_is_left_of_it_afterwards(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        assert (await perform(functions.leave_behind, path=str(file))).content == "left"
        assert (await perform(functions.pay_and_leave)).content == "paid"
        assert await stays(file)

    async def test_a_result_that_is_too_long_for_its_report_says_that_it_ran(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else a model would take it for a failure, and call again."""
        monkeypatch.setattr(processes, "MAX_REPORT_BYTES", 100_000)
        receipt = await perform(tool(effect="pure", isolation="process")(functions.rows))
        assert receipt.status == "error"
        assert receipt.content.startswith("The function ran to its end. Its result has more")

    async def test_a_working_directory_that_is_gone_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "gone"
        folder.mkdir()
        monkeypatch.chdir(folder)
        folder.rmdir()
        with pytest.raises(ConfigError, match="working directory cannot be found"):
            await perform(functions.doubled, n=4)

    def test_the_definition_promises_it(self) -> None:
        assert functions.look.definition.isolation == "process"

    def test_what_the_process_cannot_import_is_refused_with_a_hint(self) -> None:
        def inner() -> None:
            """Doc."""

        def with_context(ctx: RunContext[int]) -> None:
            """Doc."""

        with_context.__qualname__ = "with_context"
        in_program = functools.update_wrapper(lambda: None, functions.plain)
        in_program.__module__ = "__main__"
        for function, reason, hint in (
            (inner, "cannot be imported", "top level of a module"),
            (in_program, "cannot be imported", "top level of a module"),
            (with_context, "takes a RunContext", "isolation='thread'"),
        ):
            with pytest.raises(ToolDefinitionError, match=reason) as caught:
                tool(isolation="process")(function)
            assert caught.value.hint is not None and hint in caught.value.hint


@pytest.mark.req("function-timeout")
class TestTimeout:
    @pytest.mark.parametrize("how", ["loop", "sleep", "stubborn"])
    async def test_a_process_ends_at_its_timeout(self, how: str, tmp_path: Path) -> None:
        file = tmp_path / "pid"
        called = call_of(functions.hang, how=how, path=str(file))
        for seconds in (1, 2, 4, 8, 16):  # on a busy machine it may be ended before it has begun
            definition = called.definition.replace(timeout_ms=seconds * 1000)
            called = structs.replace(called, definition=definition)
            receipt = await FunctionExecutor([functions.hang]).execute(called)
            assert receipt.status == "timeout"
            assert f"within {seconds} s" in receipt.content
            if file.exists() and file.read_text():
                break
        with pytest.raises(ProcessLookupError):
            os.kill(int(file.read_text()), 0)

    @pytest.mark.parametrize("function", [functions.spread, functions.go_on])
    async def test_cancelling_ends_it_with_its_orphaned_grandchildren(
        self, function: FunctionTool[..., Any], tmp_path: Path
    ) -> None:
        file = tmp_path / "file"
        task = asyncio.create_task(perform(function, path=str(file)))
        await appears(file)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await stays(file)

    async def test_an_async_def_is_cancelled_and_awaited(self) -> None:
        steps: list[str] = []

        @tool(timeout=0.05)
        async def slow() -> None:
            """Be slow."""
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.01)
                steps.append("cleaned up")

        assert (await perform(slow)).status == "timeout"
        assert steps == ["cleaned up"]

    async def test_an_async_def_that_comes_to_its_end_all_the_same_keeps_its_result(self) -> None:
        @tool(effect="once", timeout=0.05)
        async def charge(cents: int) -> str:
            """Charge."""
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            return f"charged {cents}"

        @tool(effect="once", timeout=0.05)
        async def give_up() -> str:
            """Make another error of it."""
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise ConnectionError("lost") from None
            return ""

        done = await perform(charge, cents=500)
        assert (done.status, done.content) == ("ok", "charged 500")
        assert (await perform(give_up)).status == "timeout"

    async def test_a_coroutine_that_nobody_awaits_is_no_result(self) -> None:
        async def charge() -> str:
            """Charge."""
            return "charged"

        @tool(effect="once")
        @functools.wraps(charge)
        def wrapped() -> object:
            return charge()

        done = await perform(wrapped)
        assert done.status == "error" and "did not run" in done.content

    async def test_cancelling_reaches_an_async_def(self) -> None:
        steps: list[str] = []
        began = asyncio.Event()

        @tool
        async def slow() -> None:
            """Be slow."""
            try:
                began.set()
                await asyncio.sleep(60)
            finally:
                steps.append("ended")

        task = asyncio.create_task(perform(slow))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert steps == ["ended"]

    async def test_swallowed_cancellation_is_reported(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        release = asyncio.Event()

        @tool(timeout=0.05, effect="pure")
        async def deaf() -> None:
            """Be deaf."""
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        assert (await perform(deaf)).status == "timeout"
        assert "swallows its cancellation" in caplog.text
        release.set()


@pytest.mark.req("call-probe")
@pytest.mark.parametrize(
    "probe",
    [
        lambda: True,
        lambda chair: True,
        lambda seat, row: True,
        lambda seat, row, extra: True,
        lambda *seats: True,
        "not a function",
    ],
)
def test_a_probe_that_cannot_be_called_as_its_tool_is_refused_at_once(probe: Any) -> None:
    def book(seat: str, row: int = 1) -> str:
        """Book a seat."""
        return seat

    with pytest.raises(ToolDefinitionError, match="has a probe with other parameters") as caught:
        tool(effect="once", probe=probe)(book)
    assert "book" in caught.value.message
    for fitting in (lambda seat, row=1: True, lambda **given: True):
        assert tool(effect="once", probe=fitting)(book).definition.probe
