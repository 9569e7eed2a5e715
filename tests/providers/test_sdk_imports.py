"""The SDKs stay out of the way until a model is asked, and are missed politely."""

from __future__ import annotations

import subprocess
import sys

import pytest

PREPARE = """
import asyncio, sys
from artificer.contracts.definition import ModelRequest
from artificer.errors import MissingExtraError
from artificer.ports import Memo
from artificer.providers.anthropic import Anthropic
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.values.blocks import user
from artificer.values.model import ToolChoice

request = ModelRequest(model="m", system="s", tools=(), tool_choice=ToolChoice(), max_tokens=9)
for make in (Anthropic, OpenAIChat, OpenAIResponses):
    provider = make(api_key="k")
    prepared = provider.prepare(request, [user("Hi")], Memo())
    assert not {"anthropic", "openai", "httpx2"} & sys.modules.keys()
    sys.modules["anthropic"] = sys.modules["openai"] = None
    try:
        asyncio.run(provider.generate(prepared, print))
    except MissingExtraError as error:
        print(error.extra)
    del sys.modules["anthropic"], sys.modules["openai"]
"""


@pytest.mark.req("provider-lazy-sdk")
def test_prepare_imports_no_sdk_and_generate_says_which_extra_is_missing() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PREPARE], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stderr == ""
    assert run.stdout.split() == ["anthropic", "openai", "openai"]


BEGIN = """
import asyncio, sys
from artificer.agent import Agent
from artificer.config import Config
from artificer.errors import MissingExtraError, NotFoundError
from artificer.world import World

async def begin(model):
    async with World.in_memory(Config(local_model="/nowhere.gguf")) as world:
        try:
            await world.run("Hi.", Agent(model=model))
        except (MissingExtraError, NotFoundError) as error:
            print(error.code, len(await world.archive.runs()))

sys.modules["anthropic"] = sys.modules["openai"] = None
for model in ("anthropic/m", "openai/m", "openai-chat/m", "local/nowhere"):
    asyncio.run(begin(model))
"""


@pytest.mark.req("provider-checked-first")
def test_what_a_provider_needs_is_missed_before_a_run_begins() -> None:
    run = subprocess.run(
        [sys.executable, "-c", BEGIN], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stderr == ""
    first, *others, local = run.stdout.splitlines()
    assert {first, *others} == {"missing_extra 0"} and len(others) == 2
    assert local in ("not_found 0", "missing_extra 0")
