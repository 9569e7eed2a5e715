"""A named tool choice against a real llama.cpp server, which ignores the name.

Chat Completions and Responses treat it as "auto", Messages as "any of the tools": the reply may
call another tool, hold none, or fit no format, which the server calls its own error 500. What the
other quirks of that server are stands in ``test_providers_llamacpp``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from provider_kit import PROVIDERS, TOOLS, ask
from strict_rules import Protocol

from artificer.providers.attempts import AttemptLimits
from artificer.providers.local_process import Address
from artificer.values.blocks import Message
from artificer.values.model import ModelFailure, ToolChoice

pytestmark = pytest.mark.real_model

HOME = Path(os.environ.get("ARTIFICER_HOME", "~/.artificer")).expanduser()


@pytest.mark.req("provider-named-choice")
@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
async def test_what_was_called_is_reported_whatever_was_demanded(
    address: Address, protocol: Protocol
) -> None:
    path = "" if protocol == "messages" else "/v1"
    provider = PROVIDERS[protocol](
        base_url=address.url + path, api_key=address.key, limits=AttemptLimits(attempts=1)
    )
    outcome = await ask(provider, tool_choice=ToolChoice(mode="tool", name="find"), max_tokens=60)
    await provider.aclose()
    if isinstance(outcome, ModelFailure):
        assert (outcome.code, outcome.attempts) == ("malformed_response", 1)
        return
    called = {call.name for call in Message(role="assistant", blocks=outcome.blocks).calls}
    assert called <= {tool.name for tool in TOOLS}
    assert outcome.stop != ("end_turn" if called else "tool_use")
