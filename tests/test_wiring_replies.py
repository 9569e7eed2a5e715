"""How long replies may be: as configured, as the model can, as the kind needs, as budgets allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer.config import Config, load_config
from artificer.core.kinds import RunKind
from artificer.core.spec import Limits
from artificer.errors import ConfigError
from artificer.providers import local
from artificer.providers.longest_reply import UNKNOWN, longest_reply
from artificer.wiring.specs import limits_for, limits_of

pytestmark = pytest.mark.req("reply-limits")

SONNET = "anthropic/claude-sonnet-4-5-20250929"


def configured(folder: Path, text: str) -> Config:
    (folder / "artificer.toml").write_text(text, encoding="utf-8")
    return load_config(folder)


def limit(config: Config, model: str = SONNET, kind: RunKind = "deliver", **given: int) -> int:
    return limits_of(kind, Limits(**given) if given else None, config, model).max_tokens  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        (SONNET, 64_000),
        ("openrouter/anthropic/claude-sonnet-4.5", 64_000),
        ("anthropic/claude-opus-4-1-20250805", 32_000),
        ("anthropic/claude-opus-4-5", 64_000),
        ("anthropic/claude-3-5-haiku-latest", 8_192),
        ("openai/gpt-4", 8_192),
        ("openai/gpt-4-0613", 8_192),
        ("openai/gpt-4o-mini", 16_384),
        ("openai/gpt-4.1-nano", 32_768),
        ("openai/gpt-5.1", 128_000),
        ("openai/o3-pro", 100_000),
        ("local/smollm2", local.MAX_TOKENS),
        ("ollama/qwen3:8b", None),
        ("openai/gpt-4omega", None),
        ("scripted/m", None),
    ],
)
def test_the_table_knows_models_by_the_beginning_of_their_names(
    model: str, tokens: int | None
) -> None:
    assert longest_reply(model) == tokens


def test_a_kind_gets_what_it_needs_of_what_the_model_can() -> None:
    config = Config()
    assert limit(config, kind="deliver") == 48_000
    assert limit(config, kind="build") == 32_000
    assert limit(config, kind="chat") == 16_000
    assert limit(config, "openai/gpt-4o") == 16_384
    assert limit(config, "vllm/mine") == UNKNOWN
    assert limit(config, max_tokens=99) == 99


def test_what_is_configured_counts_and_is_cut_to_what_the_model_can(tmp_path: Path) -> None:
    config = configured(
        tmp_path,
        "[limits]\nmax_tokens = 20_000\n[limits.kinds.deliver]\nmax_tokens = 60_000\n"
        '[limits.models."vllm/mine"]\nmax_tokens = 30_000\n',
    )
    assert limit(config, kind="chat") == 20_000
    assert limit(config, kind="deliver") == 60_000
    assert limit(config, "openai/gpt-4o") == 16_384
    assert limit(config, "vllm/mine") == 30_000
    assert limit(config, "vllm/other") == 60_000, "nobody knows better"
    assert limit(config, "openai/gpt-4o", max_tokens=50_000) == 50_000, "who says it means it"


def test_a_mistyped_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="max_token:"):
        configured(tmp_path, "[limits]\nmax_token = 5\n")
    with pytest.raises(ConfigError, match=r"limits\.kinds"):
        configured(tmp_path, "[limits.kinds.report]\nmax_tokens = 5\n")


def test_one_reply_does_not_reserve_what_many_share(tmp_path: Path) -> None:
    tokens = configured(tmp_path, "[budget]\nper_day_tokens = 100_000\n")
    assert limit(tokens) == 12_500
    price = f'[prices."{SONNET}"]\ninput = 3\noutput = 15\n'
    dollars = configured(tmp_path, f"[budget]\nper_day_dollars = 1.20\n{price}")
    assert limit(dollars) == 10_000
    little = configured(tmp_path, f"[budget]\nper_day_dollars = 0.05\n{price}")
    assert limit(little) == UNKNOWN, "as short as before, never shorter"
    assert limit(little, max_tokens=9_000) == 9_000


def test_a_builds_budget_is_shared_by_its_runs(tmp_path: Path) -> None:
    assert limit(Config(), kind="build", total_tokens=80_000) == 10_000
    assert limit(Config(), kind="deliver", total_tokens=80_000) == 48_000


def test_only_reports_of_models_that_do_not_run_away_are_continued() -> None:
    made = [limits_of("deliver", None, Config(), model) for model in (SONNET, "local/smollm2")]
    assert [limits.continuations for limits in made] == [8, 0]
    assert limits_of("chat", None, Config(), SONNET).continuations == 0


def test_another_model_is_not_asked_for_more_than_it_can() -> None:
    recorded = Limits(max_tokens=48_000)
    assert limits_for("openai/gpt-4o", recorded, Config()).max_tokens == 16_384
    assert limits_for("vllm/mine", recorded, Config()) is recorded
    assert limits_for(SONNET, recorded, Config()) is recorded
