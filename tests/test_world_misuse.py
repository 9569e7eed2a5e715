"""A program's mistakes with the library: one sentence says what happened and what to do."""

from __future__ import annotations

import asyncio
import copy
import pickle
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import artificer
from artificer.agent import Agent
from artificer.config import Config
from artificer.contracts.capabilities import Host
from artificer.contracts.definition import ModelRequest
from artificer.contracts.model_settings import ModelSettings
from artificer.core.policy import Policy, Rule
from artificer.errors import AuthorError, ConfigError
from artificer.ports import Answer, Call, Memo, PreparedRequest, Question, Receipt
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.blocks import Message
from artificer.values.model import ModelFailure, Usage
from artificer.world import World

pytestmark = pytest.mark.req("world-misuse")

ECHO = """
command.exec = ["echo", "hello"]
[tool]
name = "echo"
version = "1"
description = "Say hello."
"""


@artificer.tool(effect="pure")
async def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def plain(number: int) -> int:
    """A function that nobody made a tool."""
    return number


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tools": [plain]}, "plain .* is not a tool"),
        ({"tools": "tools"}, "are a list"),
        ({"kind": "poem"}, "Unknown kind of run: 'poem'"),
        ({"kind": "build"}, "Unknown kind of run: 'build'"),
        ({"prompt": 5}, "A prompt takes texts and attachments, not int"),
        ({"settings": {"temperature": "hot"}}, "temperature"),
        ({"settings": {"temperature": 0.0000001}}, "temperature"),
        ({"kind": "deliver", "output": dict}, "not in JSON"),
        ({"limits": {"turns": 3}}, "limits of an agent takes Limits, not"),
        ({"policy": "allow"}, "takes Policy, not 'allow'"),
        ({"model": ScriptedProvider}, "ScriptedProvider'>, not provider/model"),
        ({"tools": [Agent("local/smollm2")]}, r"Agent\(.* is not a tool"),
        ({"instructions": lambda: "Be brief."}, "not a function of a RunContext"),
        ({"deps_factory": lambda path: path}, "not a function without parameters"),
        ({"check": lambda ctx, text: text}, "not a function of one value"),
    ],
)
async def test_a_wrong_argument_is_named_and_begins_no_run(
    wrong: dict[str, Any], said: str
) -> None:
    async with World.in_memory() as world:
        fields = {"model": ScriptedProvider([say("Hi.")]), **wrong}
        prompt = fields.pop("prompt", "Hi.")
        with pytest.raises(AuthorError, match=said):
            if "settings" in fields:
                fields["settings"] = ModelSettings(**fields["settings"])
            await world.run(prompt, Agent(**fields))
        assert await world.archive.runs() == []


async def test_a_script_names_the_reply_that_is_none() -> None:
    agent = Agent(ScriptedProvider(["Hi.", call("double", number=1)]), kind="chat")  # type: ignore[list-item]
    async with World.in_memory() as world:
        run = await world.run("Hi.", agent)
        with pytest.raises(AuthorError, match="Reply 2 of the script is ToolUseBlock") as raised:
            await agent.follow_up(run, "Twice 1?", world=world)
        assert raised.value.hint is not None and "reply(call(" in raised.value.hint


async def test_a_reply_of_a_script_may_hold_a_text_before_its_calls() -> None:
    model = ScriptedProvider([reply("I double it.", call("double", number=1)), "Two."])
    async with World.in_memory() as world:
        run = await world.run("Twice 1?", Agent(model, tools=[double], kind="chat"))
    assert str(run.messages[1].blocks[0].to_json()["text"]) == "I double it."


async def test_a_program_with_a_loop_is_shown_the_other_door() -> None:
    with pytest.raises(AuthorError, match="event loop is running") as raised:
        artificer.run("Hi.", model="local/smollm2", kind="chat")
    assert raised.value.hint is not None and "await agent.run(" in raised.value.hint


async def test_a_world_is_used_in_the_event_loop_that_opened_it(tmp_path: Path) -> None:
    agent = Agent(ScriptedProvider(lambda _: say("Hi.")), kind="chat")
    async with World.open(Config(home=tmp_path)) as world:
        with pytest.raises(AuthorError, match="was opened in another event loop") as raised:
            await asyncio.to_thread(agent.run_sync, "Hi.", world=world)
        assert raised.value.hint is not None and "In another thread" in raised.value.hint
        assert await world.archive.runs() == []
        assert (await agent.run("Hi.", world=world)).text == "Hi."


async def test_a_closed_world_says_how_long_to_keep_it_open(tmp_path: Path) -> None:
    async with World.open(Config(home=tmp_path)) as world:
        pass
    for use in (world.archive.runs(), world.run("Hi.", Agent(ScriptedProvider(["Hi."])))):
        with pytest.raises(AuthorError, match="is closed") as raised:
            await use
        assert raised.value.hint is not None and "async with World.open()" in raised.value.hint


async def test_a_run_says_in_few_words_how_it_stands() -> None:
    async with World.in_memory() as world:
        done = await world.run(
            "Hi.", Agent(model=ScriptedProvider([say("Hi.")]), kind="chat"), run_id="aa-1"
        )
        assert repr(done) == "<Run aa-1 completed>"
        assert (done.reason, done.failure) == ("done", None)
        down = ScriptedProvider([ModelFailure(code="auth", message="No key.")])
        stalled = await world.run("Hi.", Agent(model=down, kind="chat"))
        assert (stalled.status, stalled.reason, stalled.failure) == ("stalled", None, "auth")


@pytest.mark.req("tool-pickled")
@pytest.mark.parametrize("attempt", [pickle.dumps, copy.deepcopy])
async def test_a_run_is_not_pickled_and_says_what_to_pass(attempt: Any) -> None:
    async with World.in_memory() as world:
        run = await world.run("Hi.", Agent(ScriptedProvider(["Hi."]), kind="chat"))
        with pytest.raises(AuthorError, match="cannot be pickled") as raised:
            attempt(run)
        assert raised.value.hint is not None and "world.get" in raised.value.hint


def test_a_wrong_field_is_shown_as_it_is_written() -> None:
    with pytest.raises(AuthorError) as raised:
        Agent(limits={"turns": 3})  # type: ignore[arg-type]
    assert raised.value.hint == "limits=Limits(turns=3)"


class SaysYes:
    """An approver that returns True."""

    async def ask(self, _: Question) -> Any:
        """Answer as nobody should."""
        return True


class Blocking:
    """An approver that answers without being awaited."""

    def ask(self, _: Question) -> Any:
        """Answer as a function does that is not asynchronous."""
        return Answer(approved=True, by="ada")


@pytest.mark.parametrize(
    ("approver", "said", "hint"),
    [
        (Blocking(), "is not asynchronous; it returned Answer", "async def ask"),
        (SaysYes, "is not an approver", "async def ask"),
        (lambda _: True, "is not an approver", "async def ask"),
        (SaysYes(), "answered True to a call of double", "Answer(approved=True"),
    ],
)
async def test_an_approver_that_is_none_is_named(approver: Any, said: str, hint: str) -> None:
    agent = Agent(
        ScriptedProvider([reply(call("double", number=1))]),
        tools=[double],
        policy=Policy(rules=(Rule(decision="ask"),)),
    )
    async with World.in_memory() as world:
        with pytest.raises(AuthorError, match=said) as raised:
            await world.run("Go.", agent, approver=approver)
        assert raised.value.hint is not None and hint in raised.value.hint


async def test_a_provider_that_raises_is_named_and_leaves_a_run_to_resume() -> None:
    def answer(_: Any) -> Any:
        answers.append(1)
        if len(answers) == 1:
            raise KeyError("choices")
        return say("Hello.")

    answers: list[int] = []
    agent = Agent(ScriptedProvider(answer))
    async with World.in_memory() as world:
        with pytest.raises(AuthorError, match="provider scripted raised KeyError") as raised:
            await world.run("Hi.", agent, run_id="x")
        assert raised.value.hint is not None and "ModelFailure" in raised.value.hint
        assert (await world.resume("x", agent)).text == "Hello."


class Answering:
    """A provider that returns whatever it was made with."""

    name = "own"

    def __init__(self, answer: Any) -> None:
        self.answers = [answer, say("Hello.")]

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        return PreparedRequest({}, "messages", memo.items(None, messages, lambda m: [m.to_json()]))

    async def generate(self, prepared: PreparedRequest, on_delta: object) -> Any:
        answer = self.answers.pop(0)
        return answer() if callable(answer) else answer

    async def aclose(self) -> None:
        """Close nothing."""


def raising(error: BaseException) -> Callable[[], None]:
    """Return a function that raises an error."""

    def raises() -> None:
        raise error

    return raises


class WordlessError(Exception):
    """An error of somebody else's that fails to say what it is."""

    def __str__(self) -> str:
        raise KeyError("message")


@pytest.mark.req("world-request-checked")
@pytest.mark.parametrize(
    ("prepared", "said"),
    [
        (None, "prepared a NoneType, not a PreparedRequest"),
        (PreparedRequest(None, "messages", []), "whose fields is a NoneType, not a dict"),  # type: ignore[arg-type]
        (PreparedRequest({}, None, []), "whose key is a NoneType, not a str"),  # type: ignore[arg-type]
        (PreparedRequest({}, "messages", None), "whose items is a NoneType, not a list"),  # type: ignore[arg-type]
        (PreparedRequest({"x": float("nan")}, "m", []), "cannot be recorded.* NaN"),
        (PreparedRequest({"x": "\udcff"}, "m", []), "cannot be recorded.* not UTF-8"),
        (PreparedRequest({"x": object()}, "m", []), "cannot be recorded.* object"),  # type: ignore[dict-item]
        (raising(KeyError("x")), "failed to prepare a request: KeyError: 'x'"),
        (raising(SystemExit(3)), "failed to prepare a request: SystemExit: 3"),
        (raising(asyncio.CancelledError()), "failed to prepare a request: CancelledError"),
        (raising(WordlessError()), "failed to prepare a request: WordlessError"),
    ],
)
async def test_a_request_that_cannot_be_recorded_names_its_provider(
    prepared: Any, said: str
) -> None:
    class Preparing(Answering):
        def prepare(self, *_: object) -> Any:
            return prepared() if callable(prepared) else prepared

    async with World.in_memory(providers=[Preparing(say("Hello."))]) as world:
        with pytest.raises(AuthorError, match=f"The provider own .*{said}"):
            await world.run("Hi.", Agent("own/m"), run_id="x")
        assert (await world.archive.verify()).problems == []


@pytest.mark.req("world-reply-checked")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "returned a NoneType, not a ModelReply"),
        ({"text": "Hello."}, "returned a dict, not a ModelReply"),
        (lambda: sys.exit(3), "raised SystemExit: 3"),
        (raising(TimeoutError("Too slow.")), "raised TimeoutError: Too slow"),
        (raising(asyncio.CancelledError()), "raised CancelledError"),
        (raising(WordlessError()), "raised WordlessError"),
        (ModelFailure(code="teapot", message="Short."), "cannot be recorded: .*/code"),  # type: ignore[arg-type]
        (ModelFailure(code="auth", message=None), "cannot be recorded: .*/message"),  # type: ignore[arg-type]
        (say("Hello.").replace(stop="later"), "cannot be recorded: .*/stop"),
        (say("Hello.").replace(model=None), "cannot be recorded: .*/model"),
        (say("Hello.").replace(usage=Usage(input_tokens=1.5)), "cannot be recorded: .*/usage"),  # type: ignore[arg-type]
        (say("Hello.").replace(usage=Usage(cached_tokens=2**53)), ": .*/usage/cached_tokens must"),
        (say("Hello.").replace(usage=Usage(input_tokens=10**6000)), ": .*/usage/input_tokens must"),
        (say("Hello.").replace(usage=Usage(written_tokens=-(2**70))), ": .*/usage/written_tokens"),
        (say("Hello.").replace(attempts=2**53), "cannot be recorded: .*/attempts must"),
        (ModelFailure(code="auth", message="", attempts=2**70), "cannot be recorded: .*/attempts"),
        (reply(call("t")).replace(blocks=("Hello.",)), "cannot be recorded: .*/blocks/0"),
    ],
)
async def test_a_reply_that_nobody_could_read_again_is_not_recorded(answer: Any, said: str) -> None:
    provider = Answering(answer)
    async with World.in_memory(providers=[provider]) as world:
        with pytest.raises(AuthorError, match=f"The provider own .*{said}"):
            await world.run("Hi.", Agent("own/m"), run_id="x")
        assert (await world.archive.verify()).problems == []
        assert (await world.resume("x", Agent("own/m"))).text == "Hello."
        assert (await world.archive.replay("x")).identical


@pytest.mark.req("world-reply-checked")
@pytest.mark.parametrize(
    "receipt",
    [
        *(None, "done", lambda: sys.exit(3), Receipt(status="fine", content="x")),
        Receipt(status="ok", content="x", cost_micros=10**20),
        Receipt(status="ok", content="x", cost_micros=-1),
        Receipt(status="ok", content="x", usage=Usage(output_tokens=-1)),
    ],
)
async def test_a_receipt_that_nobody_could_read_again_is_not_recorded(receipt: Any) -> None:
    class Odd:
        tools = (double.definition.replace(name="odd", effect="once"),)

        async def execute(self, call: Call) -> Any:
            return receipt() if callable(receipt) else receipt

    model = ScriptedProvider([reply(call("odd", number=1)), say("It broke.")])
    async with World.in_memory() as world:
        run = await world.run("Hi.", Agent(model, tools=[Odd()], kind="chat"))
        assert run.text == "It broke."
        assert "error" in str(model.requests[1]["messages"][-1])
        assert (await world.archive.verify()).problems == []


async def test_settings_without_a_home_open_a_world_in_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path)
    async with World.open(Config(project="mine")):
        pass
    assert (tmp_path / "user/.artificer/mine/journal.db").is_file()
    assert not (tmp_path / "~").exists()


async def test_a_world_in_memory_needs_no_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    async with World.in_memory(Config()) as world:
        assert (await world.run("Hi.", Agent(ScriptedProvider(["Hello."])))).text == "Hello."
    with pytest.raises(ConfigError, match="working directory cannot be found"):
        World.in_memory(Config(tools=(Path("tools"),)))


async def test_a_world_outlives_its_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "echo.clad.toml").write_text(ECHO)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    async with World.open(Config(home=tmp_path / "home")) as world:
        (tmp_path / "gone").rmdir()
        assert (await world.run("Hi.", Agent(ScriptedProvider(["Hello."])))).text == "Hello."
        with pytest.raises(ConfigError, match="working directory cannot be found"):
            await world.run("Hi.", Agent(ScriptedProvider(["Hello."]), tools=[tmp_path]))


async def test_a_world_stays_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    async with World.open(Config(home=Path("home"))) as world:
        before = world.config.project_folder
        monkeypatch.chdir("elsewhere")
        assert world.config.project_folder == before
        await world.submit("Say hello.", Agent("local/smollm2"))
    assert (before / "journal.db").is_file()


@pytest.mark.req("settings-placed")
async def test_the_folders_of_its_settings_stay_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool of the project is offered, and the model reads the project's file, not another."""
    examples = Path(__file__).parents[1] / "examples/tools"
    for name in ("tools", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "who.txt").write_text(name)
    (tmp_path / "who.txt").write_text("the project")
    shutil.copy(examples / "list_folder.clad.toml", tmp_path / "tools")
    monkeypatch.chdir(tmp_path)
    config = Config(home=Path("home"), tools=(Path("tools"),), host=Host(folder="."))
    model = ScriptedProvider([reply(call("host.read", path="who.txt")), say("It was read.")])
    async with World.open(config, providers=[model]) as world:
        monkeypatch.chdir("elsewhere")
        run = await world.run("Who?", Agent("scripted/m"))
        assert "list_folder" in run.state.run_spec.toolset
    assert "the project" in str(model.requests[1]["messages"][-1])


def test_a_world_is_opened_not_made() -> None:
    with pytest.raises(AuthorError, match="opened, not made") as refused:
        World(Config())  # type: ignore[arg-type]
    assert "World.open" in refused.value.hint
