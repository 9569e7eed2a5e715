"""The table of prices: dated, exact about names, replaced by settings, recorded with a run."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from artificer import prices
from artificer.agent import Agent
from artificer.config import Config, load_config
from artificer.core.budget import max_price, reply_tokens
from artificer.core.spec import Limits
from artificer.errors import ArtificerError, ConfigError
from artificer.money import PriceConfig, TierConfig
from artificer.providers.scripted import ScriptedProvider, say
from artificer.testing.rig import Rig
from artificer.values.model import Usage
from artificer.world import World


@pytest.mark.req("price-table")
def test_each_row_has_a_source_and_a_date() -> None:
    rows = prices.table()
    assert len(rows) > 50 and len({row.model for row in rows}) == len(rows)
    for row in rows:
        assert row.source.startswith("https://") and date.fromisoformat(row.as_of), row
        assert 0 < row.input <= row.output, row
    assert {"anthropic", "openai", "gemini"} <= {row.model.partition("/")[0] for row in rows}


@pytest.mark.req("price-table")
@pytest.mark.parametrize(
    ("model", "priced"),
    [
        ("anthropic/claude-opus-4-5", True),
        ("anthropic/claude-opus-4-5-20251101", True),
        ("openai/gpt-4o-2024-08-06", True),
        ("openai-chat/gpt-4o", True),
        ("openai/gpt-4o-surprise", False),
        ("anthropic/claude-opus", False),
        ("azure/gpt-4o", False),
        ("ollama/llama3.2", False),
    ],
)
def test_only_a_model_and_its_snapshots_have_its_price(model: str, priced: bool) -> None:
    assert (Config().price_of(model) is not None) == priced


@pytest.mark.req("price-table")
def test_a_configured_price_replaces_a_row() -> None:
    own = Config(prices={"openai/gpt-4o": PriceConfig(input=1, output=2)}).price_of("openai/gpt-4o")
    assert own is not None and (own.input, own.output) == (1_000_000, 2_000_000)


@pytest.mark.req("price-table")
async def test_a_model_without_a_price_has_no_cost_and_no_limit_on_it() -> None:
    unpriced = ScriptedProvider([say("Hi.")], name="unheard")
    async with World.in_memory(Config()) as world:
        run = await world.run("Hi.", Agent(unpriced, kind="chat"))
        assert run.cost is None
        limited = Agent(unpriced, kind="chat", limits=Limits(cost_micros=1_000))
        with pytest.raises(ConfigError, match="its cost cannot be limited") as caught:
            await world.run("Hi.", limited)
        assert '[prices."unheard/unheard"]' in (caught.value.hint or "")


TIERED = PriceConfig(
    input=1, output=2, tiers=(TierConfig(above=1_000, input=3, output=5, cached=2, written=4),)
)


@pytest.mark.req("price-tiers")
@pytest.mark.parametrize(
    ("usage", "micros"),
    [
        (Usage(input_tokens=1_000, output_tokens=10), 1_000 + 20),
        (Usage(input_tokens=1_001, output_tokens=10), 3 * 1_001 + 50),
        (Usage(input_tokens=1_001, cached_tokens=1_000, written_tokens=1), 2 * 1_000 + 4),
        (Usage(input_tokens=0, output_tokens=5_000), 10_000),
    ],
)
def test_a_long_request_costs_its_tier_for_all_tokens(usage: Usage, micros: int) -> None:
    assert TIERED.value.micros(usage) == micros
    assert max_price(TIERED.value, usage.input_tokens, usage.output_tokens) >= micros


@pytest.mark.req("price-tiers")
def test_the_highest_price_is_reserved_where_longer_requests_cost_less() -> None:
    cheaper = PriceConfig(input=5, output=9, tiers=(TierConfig(above=10, input=1, output=1),)).value
    assert max_price(cheaper, 11, 1) == 5 * 11 + 9
    assert cheaper.highest_output(11) == 9_000_000


@pytest.mark.req("price-tiers")
def test_a_reply_that_its_tier_makes_too_dear_is_not_requested() -> None:
    limits = Limits(cost_micros=6_000, max_tokens=1_000)
    spec = Rig().spec(limits=limits, price=TIERED.value)
    assert reply_tokens(spec, Usage(), 0, 1_000) == 1_000
    assert reply_tokens(spec, Usage(), 0, 1_001) == (6_000 - 4 * 1_001) // 5
    assert reply_tokens(spec, Usage(), 1_000, 1_001) == "cost_limit"


@pytest.mark.req("price-tiers")
def test_the_table_and_the_settings_have_tiers(tmp_path: Path) -> None:
    row = prices.row_of("gemini/gemini-2.5-pro")
    assert row is not None and [tier.above for tier in row.tiers] == [200_000]
    for found in prices.table():
        assert all(tier.input >= found.input for tier in found.tiers), found.model
    settings = tmp_path / "artificer.toml"
    text = '[prices."p/m"]\ninput = 1\noutput = 2\ntiers = {}\n'
    settings.write_text(text.format("[{ above = 10, input = 3, output = 4 }]"))
    price = load_config(tmp_path).price_of("p/m")
    assert price is not None and price.micros(Usage(input_tokens=11)) == 33
    twice = ", ".join(["{ above = 10, input = 3, output = 4 }"] * 2)
    settings.write_text(text.format(f"[{twice}]"))
    with pytest.raises(ArtificerError, match="tiers"):
        load_config(tmp_path)
