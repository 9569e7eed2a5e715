"""The studio's own health and metrics: probes need nothing, metrics need the right to read."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from studio_kit import serving

from artificer.agent import Agent
from artificer.config import Config
from artificer.providers.scripted import ScriptedProvider, say
from artificer.studio.tokens import ApiTokens
from artificer.world import World

pytestmark = pytest.mark.req("health", "metrics")


async def test_probes_need_nothing_and_metrics_a_token(tmp_path: Path) -> None:
    async with World.open(Config(home=tmp_path, project="p")) as world:
        tokens = ApiTokens(world.config.project_folder, world.clock.now)
        _, reads = tokens.new("prometheus", ("read",), 1)
        _, acts = tokens.new("other", ("act",), 1)
        async with (
            serving(world, tokens=tokens) as studio,
            httpx.AsyncClient(base_url=studio.url, timeout=120) as client,
        ):
            await world.run("Hi.", Agent(ScriptedProvider([say("Hello.")]), kind="chat"))
            for path in ("/healthz", "/readyz"):
                answer = await client.get(path)
                assert (answer.status_code, answer.text) == (200, "ok\n")
                assert answer.headers["cache-control"] == "no-store"
            other = await client.get("/healthz", headers={"host": "evil.example"})
            assert other.status_code == 421
            assert (await client.get("/metrics")).status_code == 401
            refused = await client.get("/metrics", headers={"authorization": f"Bearer {acts}"})
            assert refused.status_code == 403
            metrics = await client.get("/metrics", headers={"authorization": f"Bearer {reads}"})
            assert metrics.status_code == 200, metrics.text
            assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
            assert "artificer_turns_total 1\n" in metrics.text
            assert 'artificer_runs{status="completed"} 1\n' in metrics.text
