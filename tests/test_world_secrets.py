"""Output of models and providers is recorded, shown and run without secrets."""

from __future__ import annotations

import base64
import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.backends.secrets.redaction import Redactor
from artificer.cli.main import cli
from artificer.config import Config
from artificer.core import events as ev
from artificer.core.record import EventLine, events_of
from artificer.errors import ArtificerError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.cleaning import MAX_HELD, CleanDeltas, cleaned_reply
from artificer.runtime.watching.observe import Observer
from artificer.values.base import JsonObject
from artificer.values.blocks import ReasoningBlock, TextBlock
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    ModelFailure,
    ModelReply,
    RetryDelta,
    TextDelta,
)
from artificer.world import World

SECRET = "sk-live-51Hq8Zr7Tn3Vb9Kd2"
NOTED: list[str] = []


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment holds a well-known secret."""
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    NOTED.clear()


@tool(effect="once")
async def note(text: str) -> str:
    """Write a text down."""
    NOTED.append(text)
    return "noted"


def everything_below(folder: Path) -> bytes:
    """Every byte of every file, and of the databases what their rows hold."""
    found = b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())
    for file in folder.rglob("*.db"):
        with sqlite3.connect(file) as database:
            found += "\n".join(database.iterdump()).encode("utf-8", "replace")
        database.close()
    return found


@pytest.mark.req("secret-model")
async def test_what_a_model_writes_is_recorded_without_secrets(tmp_path: Path) -> None:
    class Seen(Observer):
        text = ""

        def streamed(self, run: str, delta: Delta) -> None:
            self.text += delta.text

    seen = Seen()
    encoded = base64.b64encode(f"x {SECRET} x".encode()).decode()
    script = [say(f"Your token is {SECRET}, in base64 {encoded}.")]
    config = Config(home=tmp_path, project="p", durability="process")
    async with World.open(config) as world:
        run = await world.run(
            "What is my token?", Agent(kind="chat", model=ScriptedProvider(script)), observer=seen
        )
        assert run.text.startswith("Your token is [secret GITHUB_TOKEN], in base64 ")
        assert run.text.count("[secret GITHUB_TOKEN]") == 2
        assert (await world.archive.replay(run.id)).identical
    assert SECRET not in seen.text
    assert SECRET.encode() not in everything_below(tmp_path)
    assert encoded.encode() not in everything_below(tmp_path)


@pytest.mark.req("secret-calls")
async def test_a_call_that_holds_a_secret_is_refused_and_not_changed() -> None:
    script = [
        reply(call("note", text=f"the token {SECRET}")),
        reply(call("note", text="no token")),
        say("Done."),
    ]
    async with World.in_memory() as world:
        run = await world.run(
            "Note it.", Agent(kind="chat", model=ScriptedProvider(script), tools=[note])
        )
        lines = (await world.archive.history(run.id)).lines
    judged = [
        verdict
        for line in lines
        if isinstance(line, EventLine) and isinstance(line.event, ev.CallsJudged)
        for verdict in line.event.verdicts
    ]
    assert [verdict.verdict for verdict in judged] == ["denied", "allow"]
    assert "[secret GITHUB_TOKEN], which stands in the place of a secret" in judged[0].content
    assert NOTED == ["no token"]


@pytest.mark.req("secret-calls")
async def test_a_mark_is_never_written_in_the_place_of_what_it_stands_for() -> None:
    """A model that rewrites what it read would put marks where secrets were."""
    script = [reply(call("note", text="TOKEN=[secret GITHUB_TOKEN]")), say("Done.")]
    async with World.in_memory() as world:
        await world.run(
            "Note it.", Agent(kind="chat", model=ScriptedProvider(script), tools=[note])
        )
    assert NOTED == []


@pytest.mark.req("secret-model")
async def test_what_a_providers_error_repeats_is_recorded_without_secrets(tmp_path: Path) -> None:
    failure = ModelFailure(
        code="bad_request", message=f"Bad key {SECRET}", raw=json.dumps({"key": SECRET}).encode()
    )
    config = Config(home=tmp_path, project="p", durability="process")
    async with World.open(config) as world:
        await world.run("Hello.", Agent(kind="chat", model=ScriptedProvider([failure])))
    found = everything_below(tmp_path)
    assert SECRET.encode() not in found
    assert b"Bad key [secret GITHUB_TOKEN]" in found


@pytest.mark.req("secret-model")
async def test_no_part_of_a_secret_is_in_what_a_provider_raises() -> None:
    """A long text is cut only where its secrets are gone: a part of one would not be found."""

    def fail(body: JsonObject) -> ModelReply:
        raise ValueError("x" * 485 + SECRET)

    async with World.in_memory() as world:
        with pytest.raises(ArtificerError, match="raised ValueError: x") as caught:
            await world.run("Hello.", Agent(kind="chat", model=ScriptedProvider(fail)))
    assert SECRET[:5] not in caught.value.message
    assert "[secret GITHUB_TOKEN]" in caught.value.message


@tool(effect="pure")
async def waits(fails: bool) -> str:
    """Return or raise a long text with a secret where it is cut."""
    return long_text(fails)


@tool(effect="pure")
def in_thread(fails: bool) -> str:
    """Return or raise a long text with a secret where it is cut."""
    return long_text(fails)


@tool(effect="pure", isolation="process")
def apart(fails: bool) -> str:
    """Return or raise a long text with a secret where it is cut."""
    return long_text(fails)


def long_text(fails: bool) -> str:
    if fails:
        raise ValueError("x" * 1_980 + SECRET)
    return "x" * 15_995 + SECRET + "x" * 40_000


@pytest.mark.req("secret-function")
@pytest.mark.parametrize("fails", [False, True])
async def test_no_part_of_a_secret_is_in_what_a_function_returns_or_raises(fails: bool) -> None:
    tools = [waits, in_thread, apart]
    script = [*(reply(call(one.definition.name, fails=fails)) for one in tools), say("Done.")]
    async with World.in_memory() as world:
        run = await world.run(
            "Try it.", Agent(kind="chat", model=ScriptedProvider(script), tools=tools)
        )
        events = events_of((await world.archive.history(run.id)).lines)
    texts = [event.content for event in events if isinstance(event, ev.ToolReturned)]
    assert len(texts) == 3
    for text in texts:
        assert len(text) > 1_900
        assert SECRET[:5] not in text and SECRET[-5:] not in text


@pytest.mark.req("secret-function")
@pytest.mark.parametrize("fails", [False, True])
async def test_a_secret_that_is_not_utf_8_is_not_in_what_a_function_says(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "ghp_Ab3dE6gH9jK2\udce9mN5pQ8rS"
    monkeypatch.setenv("GITHUB_TOKEN", secret)

    @tool(effect="pure")
    async def say_it() -> str:
        """Say it."""
        if fails:
            raise ValueError(secret)
        return secret

    async with World.in_memory() as world:
        model = ScriptedProvider([reply(call("say_it")), say("Done.")])
        run = await world.run("Try it.", Agent(model, kind="chat", tools=[say_it]))
        lines = (await world.archive.history(run.id)).lines
        (event,) = (e for e in events_of(lines) if isinstance(e, ev.ToolReturned))
    assert "[secret GITHUB_TOKEN]" in event.content and "ghp_" not in event.content


CLEAN = Redactor({"K": SECRET}).clean


@pytest.mark.req("secret-model")
def test_a_reply_with_a_secret_keeps_neither_its_response_nor_its_reasoning() -> None:
    thought = ReasoningBlock(provider="p", data=json.dumps({"t": SECRET}), summary="")
    other = ReasoningBlock(provider="p", data='{"t": "x"}', summary="x")
    given = ModelReply(
        blocks=(thought, other, TextBlock(text="ok")), stop="end_turn", raw=SECRET[:9].encode()
    )
    cleaned = cleaned_reply(given, CLEAN)
    assert isinstance(cleaned, ModelReply)
    assert (cleaned.blocks, cleaned.raw) == ((other, TextBlock(text="ok")), None)
    plain = ModelReply(blocks=(other,), stop="end_turn", raw=b"\xff raw")
    assert cleaned_reply(plain, CLEAN) == plain


@pytest.mark.req("secret-model")
@pytest.mark.parametrize("size", [1, 2, 7, 25, 10_000])
def test_a_secret_in_pieces_is_shown_in_none(size: int) -> None:
    handed: list[Delta] = []
    deltas = CleanDeltas(CLEAN, handed.append)
    text = f"One {SECRET} and ({SECRET})\n{SECRET}, two. " + "x" * (2 * MAX_HELD) + f"{SECRET} end"
    for start in range(0, len(text), size):
        deltas(TextDelta(text=text[start : start + size]))
    deltas(ArgumentsDelta(index=0, name="t", text=f'{{"a":"{SECRET[:12]}'))
    deltas(ArgumentsDelta(index=0, name="t", text=f'{SECRET[12:]}"}}'))
    deltas(ArgumentsDelta(index=1, name="t", text="{}"))
    deltas.flush()
    said = "".join(d.text for d in handed if isinstance(d, TextDelta))
    assert said == text.replace(SECRET, "[secret K]")
    arguments = [d for d in handed if isinstance(d, ArgumentsDelta)]
    assert "".join(d.text for d in arguments) == '{"a":"[secret K]"}{}'
    assert [d.index for d in arguments] == sorted(d.index for d in arguments)


@pytest.mark.req("provider-delays")
def test_what_was_held_back_of_a_reply_goes_when_it_begins_again() -> None:
    handed: list[Delta] = []
    deltas = CleanDeltas(CLEAN, handed.append)
    retry = RetryDelta(code="rate_limited", until=1, attempt=2, attempts=4)
    for delta in (TextDelta(text="One tw"), retry, TextDelta(text="One two")):
        deltas(delta)
    deltas.flush()
    assert handed[:2] == [TextDelta(text="One "), retry]
    assert "".join(d.text for d in handed[2:] if isinstance(d, TextDelta)) == "One two"


MANIFEST = """
[tool]
name = "leak"
version = "1"
description = "Print what it is given, and a variable of the runtime's."
[args.x]
required = true
[command]
exec = ["echo", "{x}"]
"""


@pytest.mark.req("secret-by-hand")
@pytest.mark.parametrize("more", [[], ["--content"], ["--dry-run"]])
def test_a_call_by_hand_prints_no_secret(more: list[str], tmp_path: Path) -> None:
    (tmp_path / "leak.clad.toml").write_text(MANIFEST)
    given = json.dumps({"x": f"say {SECRET}"})
    home = ["--home", str(tmp_path / "home"), "--project", "p"]
    command = [*home, "tools", "run", str(tmp_path), "leak", "--args", given, *more]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    assert "[secret GITHUB_TOKEN]" in done.output
    assert SECRET not in done.output
