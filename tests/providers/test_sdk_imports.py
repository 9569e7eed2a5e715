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
    payload = provider.prepare(request, [user("Hi")], Memo())
    assert not {"anthropic", "openai", "httpx2"} & sys.modules.keys()
    sys.modules["anthropic"] = sys.modules["openai"] = None
    try:
        asyncio.run(provider.generate(payload, print))
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
