"""The table of prices: dated, exact about names, replaced by settings, recorded with a run."""

from __future__ import annotations

from datetime import date

import pytest

from artificer import prices
from artificer.agent import Agent
from artificer.config import Config
from artificer.core.spec import Limits
from artificer.errors import ConfigError
from artificer.money import PriceConfig
from artificer.providers.scripted import ScriptedProvider, say
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
