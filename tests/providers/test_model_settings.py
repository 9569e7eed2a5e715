"""Settings of model requests: checked, mapped to each protocol, recorded, and kept by a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chat_double import Double, chunk

from artificer.agent import Agent
from artificer.config import Config, load_config
from artificer.contracts.definition import ModelRequest
from artificer.contracts.model_settings import ModelSettings, RequestSettings
from artificer.core.spec import Limits
from artificer.errors import AuthorError, ConfigError, InvalidValueError
from artificer.ports import Image, Memo, Provider
from artificer.providers.anthropic import Anthropic
from artificer.providers.local import Local
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.providers.scripted import ScriptedProvider, say
from artificer.secrets.resolver import ENVIRONMENT
from artificer.values.base import JsonObject
from artificer.values.blocks import user
from artificer.values.model import ToolChoice
from artificer.wiring.providers import ProviderPool
from artificer.wiring.settings import settings_of
from artificer.world import World
from pictures import png

ALL = ModelSettings(
    temperature=0.5,
    top_p=0.25,
    stop=("END",),
    seed=7,
    max_tokens=900,
    reasoning="low",
    service_tier="flex",
    extra_body={"output_config": {"mine": 1}, "reasoning": {"summary": "auto"}},
)


def body(provider: Provider, settings: ModelSettings, max_tokens: int = 9_000) -> JsonObject:
    """The request that a provider makes of settings."""
    recorded = settings.recorded
    request = ModelRequest(
        model="m",
        system="",
        tools=(),
        tool_choice=ToolChoice(),
        max_tokens=max_tokens,
        settings=recorded.replace(temperature=None, max_tokens=None),
    )
    return provider.prepare(request, (user("Hi."),), Memo()).body


@pytest.mark.req("settings-mapped")
def test_each_protocol_gets_its_own_members() -> None:
    chat, messages = body(OpenAIChat(), ALL), body(Anthropic(), ALL)
    responses = body(OpenAIResponses(), ALL)
    assert (chat["top_p"], chat["stop"], chat["seed"]) == (0.25, ["END"], 7)
    assert (chat["reasoning_effort"], chat["service_tier"]) == ("low", "flex")
    assert (messages["top_p"], messages["stop_sequences"]) == (0.25, ["END"])
    assert messages["output_config"] == {"effort": "low", "mine": 1}
    assert messages["thinking"] == {"type": "adaptive"}
    assert responses["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body(OpenAIChat(), ModelSettings()).keys() == {
        *("model", "max_completion_tokens", "stream", "stream_options", "messages")
    }


@pytest.mark.req("settings-mapped")
def test_a_budget_of_reasoning_leaves_room_for_the_reply() -> None:
    thinks = ModelSettings(reasoning=8_000)
    assert body(Anthropic(), thinks)["thinking"] == {"type": "enabled", "budget_tokens": 6_750}
    assert "thinking" not in body(Anthropic(), thinks, max_tokens=1_000)
    router = ProviderPool(Config(), {}, ENVIRONMENT).get("openrouter")
    assert body(router, thinks)["reasoning"] == {"max_tokens": 8_000}
    assert body(router, ModelSettings(reasoning="high"))["reasoning"] == {"effort": "high"}


@pytest.mark.req("settings-refused")
@pytest.mark.parametrize(
    ("provider", "settings", "refused"),
    [
        (Anthropic(), ModelSettings(seed=1), "seed"),
        (OpenAIResponses(), ModelSettings(stop=("x",)), "stop"),
        (OpenAIResponses(), ModelSettings(reasoning=2_000), "reasoning as a number of tokens"),
        (OpenAIChat(), ModelSettings(reasoning=2_000), "reasoning as a number of tokens"),
        (Local(Path("m.gguf")), ModelSettings(service_tier="flex"), "service_tier"),
    ],
)
async def test_a_setting_that_a_server_does_not_take_is_refused_before_a_run(
    provider: Provider, settings: ModelSettings, refused: str
) -> None:
    async with World.in_memory() as world:
        with pytest.raises(ConfigError, match=f"does not support the setting: {refused}"):
            await world.run("Hi.", Agent(model=provider, settings=settings))
        assert await world.archive.runs() == []


@pytest.mark.req("settings-refused")
@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"temperature": -1}, "/temperature"),
        ({"temperature": 0.123_456_7}, "/temperature"),
        ({"temperature": float("nan")}, "/temperature"),
        ({"top_p": 2}, "/top_p"),
        ({"reasoning": "huge"}, "/reasoning"),
        ({"max_tokens": 0}, "/max_tokens"),
        ({"extra_headers": {"Authorization": "Bearer abc"}}, "/extra_headers/Authorization"),
        ({"extra_body": {"messages": []}}, "/extra_body/messages"),
    ],
)
def test_a_wrong_setting_is_named(fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        ModelSettings(**fields)
    assert caught.value.pointer == pointer


@pytest.mark.req("settings-refused")
def test_unknown_settings_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(AuthorError, match="temprature"):
        ModelSettings(temprature=0.2)  # type: ignore[call-arg]
    with pytest.raises(AuthorError, match="are ModelSettings, or a list of them"):
        Agent(settings={"temperature": 0.2})  # type: ignore[arg-type]
    file = tmp_path / "artificer.toml"
    file.write_text('[models."a/b"]\ntemprature = 0.2\n', "utf-8")
    with pytest.raises(ConfigError, match="temprature") as caught:
        load_config(tmp_path)
    assert caught.value.hint == "Did you mean 'temperature'?"


@pytest.mark.req("settings-recorded")
async def test_settings_of_each_turn_are_recorded_and_replayed(tmp_path: Path) -> None:
    turns = [ModelSettings(temperature=1.5, seed=1), ModelSettings(reasoning="high", max_tokens=99)]
    double = Double(lambda _: [chunk("stop", content="Hi.")])
    async with double as url:
        (tmp_path / "artificer.toml").write_text(
            f'[providers.mine]\nbase_url = "{url}"\n'
            '[models."mine/m"]\ntop_p = 0.5\nseed = 3\nextra_body = { min_p = 0.1 }\n',
            "utf-8",
        )
        config = load_config(tmp_path, home=str(tmp_path / "home"))
        async with World.open(config) as world:
            agent = Agent(model="mine/m", settings=turns, kind="chat")
            run = await world.run("One.", agent)
            for prompt in ("Two.", "Three."):
                run = await agent.follow_up(run.id, prompt, world=world)
            assert (await world.archive.replay(run.id)).identical
            spec = run.state.run_spec
    first, second, third = double.requests
    assert (first["temperature"], first["seed"], first["top_p"]) == (1.5, 1, 0.5)
    assert first["min_p"] == 0.1
    assert (second["reasoning_effort"], second["max_tokens"], second["seed"]) == ("high", 99, 3)
    assert "temperature" not in second and third["reasoning_effort"] == "high"
    assert spec.settings[0].temperature == "1.5" and spec.settings[0].body == '{"min_p":0.1}'


@pytest.mark.req("settings-recorded")
async def test_the_longest_reply_is_a_setting_too() -> None:
    async def longest(settings: ModelSettings, limits: Limits | None = None) -> list[int]:
        provider = ScriptedProvider([say("Hi.")])
        agent = Agent(model=provider, settings=settings, limits=limits, kind="chat")
        async with World.in_memory() as world:
            run = await world.run("Hi.", agent)
        sent = provider.requests[0]["max_tokens"]
        assert isinstance(sent, int)
        return [sent, run.state.run_spec.limits.max_tokens]

    assert await longest(ModelSettings(max_tokens=20_000)) == [20_000, 20_000]
    assert await longest(ModelSettings(max_tokens=900), Limits(max_tokens=500)) == [500, 500]


def _files_with(text: bytes, folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and text in p.read_bytes()]


@pytest.mark.req("settings-secrets")
async def test_a_secret_of_a_header_is_sent_and_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = {"X-Gateway-Key": "Bearer {_secret:gateway}"}
    agent = Agent(model="mine/m", settings=ModelSettings(extra_headers=header), kind="chat")
    double = Double(lambda _: [chunk("stop", content="Hi.")])
    async with double as url:
        text = f'[providers.mine]\nbase_url = "{url}"\n'
        (tmp_path / "artificer.toml").write_text(text, "utf-8")
        async with World.open(load_config(tmp_path, home=str(tmp_path / "home"))) as world:
            with pytest.raises(ConfigError) as caught:
                await world.run("Hi.", agent)
            assert "ARTIFICER_SECRET_GATEWAY" in (caught.value.hint or "")
            monkeypatch.setenv("ARTIFICER_SECRET_GATEWAY", "hunter2-hunter2")
            run = await world.run("Hi.", agent)
            assert run.status == "completed"
            assert (await world.archive.replay(run.id)).identical
    assert double.heads[-1].count("x-gateway-key: bearer hunter2-hunter2") == 1
    assert _files_with(b"hunter2", tmp_path) == []


@pytest.mark.req("settings-recorded")
async def test_further_headers_are_sent_next_to_attachments() -> None:
    settings = ModelSettings(extra_headers={"X-Team": "red"})
    image = Image.from_bytes(png(), name="cat.png")
    double = Double(lambda _: [chunk("stop", content="A cat.")])
    async with double as url, World.in_memory() as world:
        provider = OpenAIChat("mine", base_url=url)
        agent = Agent(provider, settings=settings, kind="chat")
        run = await agent.run(["What is it?", image], world=world)
        await provider.aclose()
    assert run.status == "completed"
    assert "x-team: red" in double.heads[-1]


@pytest.mark.req("settings-secrets")
async def test_a_secret_that_is_written_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_TOKEN", "hunter2-hunter2")
    settings = ModelSettings(extra_body={"user": "hunter2-hunter2"})
    async with World.in_memory() as world:
        with pytest.raises(ConfigError, match="contain a secret"):
            await world.run("Hi.", Agent(ScriptedProvider([say("Hi.")]), settings=settings))


@pytest.mark.req("settings-mapped")
@pytest.mark.parametrize(
    ("model", "reasoning"),
    [
        ("claude-sonnet-4-5", 4_096),
        ("claude-haiku-4-5-20251001", 4_096),
        ("claude-opus-4-6", "medium"),
        ("claude-sonnet-5", "medium"),
    ],
)
async def test_models_without_an_effort_get_a_budget(model: str, reasoning: object) -> None:
    async with World.in_memory() as world:
        (made,) = settings_of(
            ModelSettings(reasoning="medium"),
            f"anthropic/{model}",
            Anthropic(),
            Config(),
            world._resources.redactor,
        )
    assert made == RequestSettings(reasoning=reasoning)  # type: ignore[arg-type]
