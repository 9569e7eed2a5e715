"""Specs and calls are blobs: what the provider was given, and what it wrote, byte for byte."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from artificer.core.record import EventLine, IntentLine
from artificer.ports import Call
from artificer.providers.anthropic import Anthropic
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import load
from artificer.runtime.proving.verify import verify
from artificer.storage.blobs.memory import MemoryStore
from artificer.testing.rig import Rig
from artificer.values.blocks import ReasoningBlock, TextBlock, ToolUseBlock
from artificer.values.model import ToolChoice

RAW = '{"x": 1,  "y": "\\ud83d\\ude00", "x": '


@pytest.fixture
async def rig() -> Rig:
    async def answer(call: Call) -> str:
        return "x" * 9_000

    rig = Rig()
    rig.tools.add("answer", answer)
    return rig


def read(rig: Rig, digest: str | None) -> Any:
    assert digest is not None
    return json.loads(rig.blobs.get(digest))


@pytest.mark.req("calls-as-blobs")
async def test_every_reply_and_result_is_a_blob_of_output_items(rig: Rig) -> None:
    thought = ReasoningBlock(provider="scripted", data="{}", summary="Hm.")
    calls = (
        ToolUseBlock(id="c1", name="answer", arguments=RAW),
        ToolUseBlock(id="c2", name="answer", arguments=json.dumps({"long": "y" * 9_000})),
    )
    await rig.run([reply(thought, TextBlock(text="Let me see."), *calls), say("Done.")])
    lines = (await load(rig.journal, rig.blobs, "run")).lines
    outputs = [line.outputs for line in lines if isinstance(line, EventLine) and line.outputs]
    first, result, last = outputs[0], outputs[1], outputs[-1]
    raw, long = (read(rig, digest) for digest in first.calls)
    assert raw == {"id": "c1", "name": "answer", "arguments_json": RAW}
    assert rig.blobs.get(long["arguments_json"]["$blob"]) == calls[1].arguments.encode()
    items = read(rig, first.items)
    assert [i["type"] for i in items] == ["reasoning", "message", "tool_call", "tool_call"]
    assert rig.blobs.get(first.text or "") == b"Let me see."
    item = read(rig, result.items)
    assert (item["type"], item["id"]) == ("tool_output", "c2")
    assert rig.blobs.get(item["content"]["$blob"]) == b"x" * 9_000
    assert last.calls == () and rig.blobs.get(last.text or "") == b"Done."
    assert (await rig.replay()).identical
    assert (await verify(rig.journal, rig.blobs)).problems == []


@pytest.mark.req("tools-as-blobs")
@pytest.mark.parametrize("provider", [Anthropic(), OpenAIChat(), OpenAIResponses()])
async def test_the_tools_as_the_provider_gets_them_are_one_blob_for_all_turns(
    rig: Rig, provider: Any
) -> None:
    class Speaks(ScriptedProvider):
        def prepare(self, *args: Any) -> Any:
            return provider.prepare(*args)

    script = [reply(ToolUseBlock(id="", name="answer", arguments="{}")) for _ in range(3)]
    model = Speaks([*script, say("Done.")], name=provider.name)
    choices = (ToolChoice(mode="tool", name="answer"), ToolChoice())
    await rig.run(model, provider=provider.name, choices=choices)
    lines = (await load(rig.journal, rig.blobs, "run")).lines
    refs = [line.tools for line in lines if isinstance(line, IntentLine) and line.request]
    assert len(refs) == 4 and len(set(refs)) == 2, "one for each tool choice"
    for ref, body in zip(refs, model.requests, strict=True):
        (digest,) = ref
        given = read(rig, digest)
        assert given["provider"] == provider.name
        assert given["tools"] == body["tools"] and given["tool_choice"] == body["tool_choice"]


@pytest.mark.req("tools-as-blobs")
async def test_without_tools_there_is_nothing_to_keep() -> None:
    rig = Rig()
    await rig.run([say("Hello.")])
    lines = (await load(rig.journal, rig.blobs, "run")).lines
    assert all(line.tools == () for line in lines if isinstance(line, IntentLine))


class Counted(MemoryStore):
    """Counts how often a blob is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = Counter[str]()

    def put(self, data: bytes) -> str:
        digest = super().put(data)
        self.puts[digest] += 1
        return digest


@pytest.mark.req("tools-stored-once")
async def test_the_tools_of_a_run_are_stored_with_its_first_request(rig: Rig) -> None:
    """All requests cite them, and can be read."""
    rig.blobs = blobs = Counted()
    await rig.run([*(reply(call("answer", n=n)) for n in range(3)), say("Done.")])
    lines = (await load(rig.journal, blobs, "run")).lines
    cited = [line.tools for line in lines if isinstance(line, IntentLine) and line.tools]
    assert len(cited) == 4 and len(set(cited)) == 1
    assert blobs.puts[cited[0][0]] == 1
    assert read(rig, cited[0][0])["tools"]
    assert (await rig.replay()).identical
