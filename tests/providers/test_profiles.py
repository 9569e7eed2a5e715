"""Providers by name: nothing is configured, and what differs is recorded with the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from chat_double import Double, chunk
from strict_server import Calls, Says, StrictServer
from test_tool_loops import weather

from artificer.agent import Agent
from artificer.config import Config, ProviderConfig
from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.contracts.model_settings import ModelKeys
from artificer.errors import ConfigError
from artificer.ports import Memo
from artificer.providers.endpoint import Endpoint
from artificer.providers.profiles import profiles
from artificer.secrets.resolver import ENVIRONMENT
from artificer.values.base import JsonObject
from artificer.values.blocks import Message, ToolResultBlock, ToolUseBlock, user
from artificer.values.model import ModelFailure, ToolChoice
from artificer.wiring.known_providers import known_providers
from artificer.wiring.providers import ProviderPool, build_mapper, wire_of
from artificer.world import World

PROFILES = ("ollama", "vllm", "lmstudio", "openrouter", "groq", "deepseek", "mistral")
PROFILES += ("together", "gemini", "azure")

LOOK = ToolDefinition(name="look", description="Look.", input_schema={"type": "object"})
HISTORY = (
    user("Look."),
    Message(role="assistant", blocks=(ToolUseBlock(id="call_1", name="look", arguments="{}"),)),
    Message(
        role="user", blocks=(ToolResultBlock(tool_use_id="call_1", status="ok", content="A cat."),)
    ),
)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every known key, and an address where one has to be set."""
    for profile in profiles().values():
        monkeypatch.setenv(profile.key, "k-12345678")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com")


def request(**changes: object) -> ModelRequest:
    choice = ToolChoice(mode="tool", name="look")
    made = ModelRequest(model="m", system="", tools=(LOOK,), tool_choice=choice, max_tokens=99)
    return made.replace(**changes)


def body(name: str, messages: Sequence[Message] = HISTORY) -> JsonObject:
    """A request as the provider of that name sends it, and as a replay maps it."""
    config = Config()
    provider, model = ProviderPool(config, {}, ENVIRONMENT).choose(f"{name}/m")
    assert model == "m"
    sent = provider.prepare(request(), messages, Memo()).body
    replayed = build_mapper(name, wire_of(provider), config, {})
    assert replayed.prepare(request(), messages, Memo()).body == sent
    return sent


@pytest.mark.req("provider-by-name")
@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("name", PROFILES)
def test_a_replay_maps_requests_as_the_profile_did(name: str) -> None:
    assert body(name)["model"] == "m"
    assert set(PROFILES) == set(profiles())


@pytest.mark.req("provider-by-name")
@pytest.mark.usefixtures("keys")
def test_the_quirks_of_a_provider_stay_in_its_profile() -> None:
    usual, mistral, studio = body("vllm"), body("mistral"), body("lmstudio")
    assert usual["stream_options"] == {"include_usage": True}
    assert usual["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert studio["tool_choice"] == "required"
    assert "stream_options" not in mistral
    (made,), result = mistral["messages"][1]["tool_calls"], mistral["messages"][2]  # type: ignore[index,call-overload]
    assert made["id"] == result["tool_call_id"] and len(made["id"]) == 9 and made["id"].isalnum()
    assert body("azure")["max_completion_tokens"] == 99


@pytest.mark.req("provider-by-name")
async def test_a_model_runs_by_name_and_replays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with StrictServer(Calls(("weather", '{"city": "Oslo"}')), Says("Rain.")) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
        async with World.open(Config(home=tmp_path)) as world:
            agent = Agent(model="ollama/llama3.2", tools=[weather], kind="chat")
            run = await world.run("Weather in Oslo?", agent)
            assert (run.status, run.text, server.refused) == ("completed", "Rain.", [])
            assert (await world.archive.replay(run.id)).identical


@pytest.mark.req("provider-by-name")
@pytest.mark.parametrize(
    ("variable", "value", "name", "url"),
    [
        ("OLLAMA_HOST", "0.0.0.0:11434", "ollama", "http://localhost:11434/v1"),
        ("OLLAMA_HOST", "https://big.example/ollama/v1", "ollama", "https://big.example/ollama/v1"),
        ("OLLAMA_HOST", "", "ollama", "http://localhost:11434/v1"),
        ("AZURE_OPENAI_ENDPOINT", "https://a.example/", "azure", "https://a.example/openai/v1/"),
    ],
)
def test_a_variable_names_another_server(variable: str, value: str, name: str, url: str) -> None:
    assert profiles()[name].url(name, {variable: value}) == url


@pytest.mark.req("provider-server-named")
def test_a_variable_that_is_no_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = ProviderPool(Config(), {}, ENVIRONMENT)
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000")
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL is not a URL"):
        pool.get("openai-chat")
    monkeypatch.setenv("OPENAI_BASE_URL", " ")
    assert "vendor" in wire_of(pool.get("openai-chat"))


@pytest.mark.req("provider-by-name")
def test_settings_of_a_known_name_keep_its_features() -> None:
    own = {"mistral": ProviderConfig(base_url="http://127.0.0.1:9/v1")}
    provider = ProviderPool(Config(providers=own), {}, ENVIRONMENT).get("mistral")
    assert wire_of(provider).endswith("ids=9")


@pytest.mark.req("provider-by-name")
def test_the_known_providers_say_which_key_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "k-12345678")
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    own = {"mine": ProviderConfig(base_url="http://127.0.0.1:9/v1", api_key_env="MINE_KEY")}
    found = {entry.name: entry for entry in known_providers(Config(providers=own))}
    assert (found["groq"].ready, found["groq"].key_place) == (True, "GROQ_API_KEY")
    assert (found["mistral"].ready, found["mistral"].key_variable) == (False, "MISTRAL_API_KEY")
    assert (found["ollama"].ready, found["ollama"].base_url) == (True, "http://localhost:11434/v1")
    assert not found["azure"].ready and not found["mine"].ready and found["mine"].configured
    assert {"anthropic", "openai", "local"} <= found.keys()


@pytest.mark.req("provider-missing-key")
@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("openai/m", "Set the environment variable OPENAI_API_KEY."),
        ("mistral/m", "Set the environment variable MISTRAL_API_KEY."),
        ("mine/m", "Set the environment variable MINE_KEY."),
        ("azure/m", "Set the environment variable AZURE_OPENAI_ENDPOINT to the URL of"),
        ("openia/gpt-5", "Did you mean 'openai'?"),
        ("gpt-4o", "Did you mean openai/gpt-4o?"),
        ("openai:gpt-5", "Did you mean openai/gpt-5?"),
        ("groq:openai/gpt-oss-20b", "Did you mean groq/openai/gpt-oss-20b?"),
        ("claude-sonnet-4-5", "Did you mean anthropic/claude-sonnet-4-5?"),
        ("qwen3", "Did you mean ollama/qwen3?"),
        ("local/anything", "Write local/smollm2"),
    ],
)
async def test_what_is_missing_or_misspelt_is_named_before_a_run(
    model: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "MISTRAL_API_KEY", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    own = {"mine": ProviderConfig(base_url="http://127.0.0.1:9/v1", api_key_env="MINE_KEY")}
    async with World.in_memory(Config(providers=own)) as world:
        with pytest.raises(ConfigError) as caught:
            await world.run("Hello.", Agent(model=model))
        assert (caught.value.hint or "").startswith(hint)
        assert await world.archive.runs() == []


@pytest.mark.req("events-reasoning")
async def test_reasoning_is_streamed_as_it_forms() -> None:
    chunks = [chunk(reasoning_content="Let me "), chunk(reasoning_content="see.")]
    double = Double(lambda _: [*chunks, chunk("stop", content="Rain.")])
    async with double as url:
        config = Config(providers={"mine": ProviderConfig(base_url=url)})
        agent = Agent(model="mine/m", kind="chat")
        async with World.in_memory(config) as world, world.stream("Go.", agent) as run:
            seen = [event async for event in run]
    thought = "".join(event.text for event in seen if event.type == "reasoning")
    text = "".join(event.text for event in seen if event.type == "text")
    assert (thought, text) == ("Let me see.", "Rain.")


@pytest.mark.req("provider-key-sendable")
@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("k-12345678\r", "the character U+000D"),
        ("k-12345678\n", "the character U+000A"),
        ("…", "the character U+2026"),
        ("k-\udcff345678", "the character U+DCFF"),
        (" k-12345678", "a space at its beginning or end"),
    ],
)
async def test_a_key_that_no_header_can_hold_is_named_before_a_run(
    key: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    async with World.in_memory() as world:
        with pytest.raises(ConfigError, match=re.escape(f"OPENAI_API_KEY holds {what},")) as caught:
            await world.run("Hello.", Agent(model="openai/m"))
    assert "Set it again" in (caught.value.hint or "")
    given = await Endpoint("OPENAI", api_key=key).key()
    assert isinstance(given, ModelFailure)
    assert (given.code, what in given.message) == ("auth", True)
    assert what in Endpoint("OPENAI", api_key=key).find().missing


@pytest.mark.req("provider-key-sendable")
async def test_a_secret_that_no_header_can_hold_is_named_and_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_GATEWAY", "g-12345678\r")
    own = {"mine": ProviderConfig(base_url="http://127.0.0.1:9/v1")}
    models = {"mine/m": ModelKeys(extra_headers={"X-Gateway-Key": "{_secret:gateway}"})}
    async with World.in_memory(Config(providers=own, models=models)) as world:
        run = await world.run("Hello.", Agent(model="mine/m"))
    assert (run.status, run.state.failure) == ("stalled", "auth")
