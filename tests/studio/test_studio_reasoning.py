"""The model's reasoning on a run's page."""

from __future__ import annotations

import pytest
from studio_kit import Studio, http_client

from artificer.agent import Agent
from artificer.providers.scripted import ScriptedProvider, reply
from artificer.values.blocks import ReasoningBlock, TextBlock


@pytest.mark.req("studio-reasoning")
async def test_reasoning_is_folded_and_escaped(served: Studio) -> None:
    block = ReasoningBlock(provider="scripted", data="{}", summary="I <b>greet</b> back.")
    script = [reply(block, TextBlock(text="Hello.")), reply(TextBlock(text="Bye."))]
    agent = Agent(ScriptedProvider(script), kind="chat")
    thinks = await agent.run("Hi", world=served.world)
    silent = await agent.run("Hi", world=served.world)
    async with http_client(served.url, follow_redirects=True) as client:
        await client.get("/", params={"key": served.key})
        page = (await client.get(f"/runs/{thinks.id}")).text
        assert "<summary>Reasoning</summary>" in page
        assert "I &lt;b&gt;greet&lt;/b&gt; back." in page and "Hello." in page
        assert "Reasoning" not in (await client.get(f"/runs/{silent.id}")).text
