"""The engineer behind a model's API: what a command line builds with is asked over HTTP.

    python tests/runtime/builds/engineer_server.py todo

serves until it is interrupted, and prints what to write into artificer.toml.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import jobs
from engineer import Engineer, Job
from strict_server import Calls, Says, StrictServer, Turn

from artificer.values.blocks import TextBlock, ToolUseBlock
from artificer.values.model import ModelReply


def answering(job: Job) -> Callable[[dict[str, Any]], Turn]:
    """An engineer who reads requests in the form of OpenAI's chat completions."""
    engineer = Engineer(job)

    def answer(body: dict[str, Any]) -> Turn:
        wire = {_neutral(tool["function"]["name"]): tool["function"] for tool in body["tools"]}
        said = {
            "tools": [{"name": n, "input_schema": f["parameters"]} for n, f in wire.items()],
            "messages": [
                {"role": message["role"], "blocks": [{"text": _text(message["content"])}]}
                for message in body["messages"]
                if message["role"] != "system"
            ],
        }
        made = engineer(said)
        assert isinstance(made, ModelReply)
        calls = [
            (wire[block.name]["name"], block.arguments)
            for block in made.blocks
            if isinstance(block, ToolUseBlock)
        ]
        text = "".join(block.text for block in made.blocks if isinstance(block, TextBlock))
        return Calls(*calls) if calls else Says(text)

    return answer


def _neutral(name: str) -> str:
    """Names with dots are mapped to what APIs take."""
    return name.replace("host_", "host.", 1) if name.startswith("host_") else name


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(part.get("text", "") for part in content)


async def main(name: str) -> None:
    async with StrictServer(answer=answering(getattr(jobs, name.upper()))) as server:
        print('model = "engineer/e"\n\n[providers.engineer]')
        print(f'base_url = "{server.url}"', flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
