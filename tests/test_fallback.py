"""Lists of models in agents, settings and forks, as a program uses them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from artificer import AuthorError, Image, Limits, ModelSettings, World
from artificer.agent import Agent
from artificer.config import Config, load_config
from artificer.contracts.model_settings import ModelKeys
from artificer.errors import ConfigError
from artificer.money import PriceConfig
from artificer.ports import Provider
from artificer.providers.scripted import ScriptedProvider, ScriptedReply
from artificer.runtime.fork import ForkChanges
from artificer.values.model import ModelFailure
from artificer.wiring.forks import new_fork

BUSY = ModelFailure(code="overloaded", message="Too much to do.")


def script(*answers: ScriptedReply, name: str = "scripted") -> ScriptedProvider:
    return ScriptedProvider(answers, name=name)


def two(*after: ScriptedReply) -> list[str | Provider]:
    return [script(BUSY, name="first"), script(*after, name="second")]


@pytest.mark.req("fallback-models")
class TestAgent:
    async def test_the_next_provider_of_the_list_answers(self) -> None:
        async with World.in_memory() as world:
            run = await Agent(two("# Tea\n\nHot."), kind="deliver").run("Go.", world=world)
            assert run.models == ("first/first", "second/second")
            said = "second/second, instead of first/first (overloaded, turn 1)"
            assert said in run.html and said in run.markdown
            changed = [e for e in run.events if e.type == "model_changed"]
            assert [(e.failed, e.code) for e in changed] == [("first/first", "overloaded")]

    async def test_providers_of_the_same_name_are_kept_apart(self) -> None:
        async with World.in_memory() as world:
            agent = Agent([script(BUSY), script(BUSY), script("Third.")], kind="chat")
            run = await agent.run("Go.", world=world)
            assert (run.text, len(run.models)) == ("Third.", 3)

    def test_an_empty_list_is_refused(self) -> None:
        with pytest.raises(AuthorError, match="empty"):
            Agent([])

    async def test_every_model_has_its_own_limits_price_and_settings(self) -> None:
        config = Config(
            prices={"first/first": PriceConfig.from_json({"input": 1.0, "output": 1.0})},
            models={"second/second": ModelKeys(temperature=0.5)},
            context_tokens={"second/second": 5_000},
        )
        async with World.in_memory(config) as world:
            run = await Agent(two("Hello."), kind="chat").run("Go.", world=world)
            spec = run.state.run_spec
            assert (spec.limits.context_tokens, spec.price) == (5_000, None)
            assert spec.temperature == "0.5" and run.cost is None

    @pytest.mark.parametrize("missing", [0, 1])
    async def test_the_key_of_each_model_has_to_be_there(
        self, missing: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        models = ["openai/gpt-4o", "anthropic/claude-opus-4-5"]
        keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]
        monkeypatch.setenv(keys[1 - missing], "k")
        monkeypatch.delenv(keys[missing], raising=False)
        async with World.in_memory() as world:
            with pytest.raises(ConfigError) as caught:
                await Agent(models, kind="chat").run("Go.", world=world)
            assert keys[missing] in (caught.value.hint or "")
            assert await world.archive.runs() == []

    async def test_a_setting_or_an_attachment_has_to_fit_each_model(self) -> None:
        picture = Image.from_path(Path(__file__).parents[1] / "examples/compare/square.png")
        async with World.in_memory() as world:
            agent = Agent([script("Hello."), "local/smollm2"], kind="chat")
            limited = replace(agent, settings=ModelSettings(service_tier="flex"))
            with pytest.raises(ConfigError, match="local/smollm2 does not support the setting"):
                await limited.run("Go.", world=world)
            with pytest.raises(ConfigError, match="cannot be sent to local/smollm2"):
                await agent.run(["Go.", picture], world=world)

    async def test_a_cost_limit_needs_the_price_of_each_model(self) -> None:
        price = PriceConfig.from_json({"input": 1.0, "output": 1.0})
        config = Config(prices={"first/first": price})
        async with World.in_memory(config) as world:
            agent = Agent(two("Hello."), kind="chat", limits=Limits(cost_micros=1_000_000))
            with pytest.raises(ConfigError, match="second/second"):
                await agent.run("Go.", world=world)


@pytest.mark.req("fallback-models")
class TestSettings:
    def test_the_file_and_the_environment_name_lists(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "artificer.toml").write_text('model = ["a/x", "b/y"]')
        assert load_config(tmp_path).default_models == ("a/x", "b/y")
        monkeypatch.setenv("ARTIFICER_MODEL", "c/z, d/w")
        assert load_config(tmp_path).default_models == ("c/z", "d/w")
        monkeypatch.setenv("ARTIFICER_MODEL", "c/z")
        assert load_config(tmp_path).default_models == ("c/z",)

    @pytest.mark.parametrize("text", ["model = []", 'model = ["a/x", 3]', "model = 3"])
    def test_what_is_no_list_of_names_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "artificer.toml").write_text(text)
        with pytest.raises(ConfigError, match=r"artificer.toml: model"):
            load_config(tmp_path)


@pytest.mark.req("fallback-forks")
class TestForks:
    async def test_a_fork_without_a_model_takes_the_list_over(self) -> None:
        async with World.in_memory() as world:
            models = [script(BUSY), script("One.")]
            origin = await Agent(models, kind="chat").run("Go.", world=world)
            fork = await new_fork(world._resources, Agent(), origin.id, "new", None)
            assert fork.recorded.spec == origin.state.run_spec.replace(
                fallbacks=(origin.state.run_spec.as_fallback(),)
            )
            assert fork.forked.origin.changed == ()

    @pytest.mark.parametrize("steer", ["", "More."])
    async def test_another_model_answers_a_fork_of_a_run_that_fell_back(self, steer: str) -> None:
        async with World.in_memory() as world:
            origin = await Agent(two("One."), kind="chat").run("Go.", world=world)
            other = script("Two.", name="other")
            fork = await world.fork(origin.id, Agent(other), ForkChanges(steer=steer))
            assert (fork.text, fork.models) == ("Two.", ("other/other",))

    async def test_so_does_the_first_of_a_list_where_the_run_had_stalled(self) -> None:
        async with World.in_memory() as world:
            origin = await Agent(script(BUSY), kind="chat").run("Go.", world=world)
            assert origin.status == "stalled"
            models = [script(BUSY, name="one"), script("Two.", name="two")]
            fork = await world.fork(origin.id, Agent(models))
            assert (fork.text, fork.models[-1]) == ("Two.", "two/two")
