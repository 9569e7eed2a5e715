"""Show how the gate answers a wrong call. The calls are scripted; the data are your checkout's."""

from __future__ import annotations

import json
import os
import tempfile

import checkout

from artificer import Agent
from artificer.testing import ScriptedProvider, call, reply
from artificer.values.blocks import ToolResultBlock

WRONG = {
    "call": "count_files#2",
    "rows": "/folder",
    "label": "name",
    "values": [{"column": "lines", "colour": "red"}],
}
NEXT = {**WRONG, "call": "count_files#1", "rows": "/folders", "values": [{"column": "linse"}]}


def main() -> int:
    """Print the problems of two wrong calls. Both are answered; neither is run."""
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"ARTIFICER_HOME": home}
        script = [
            reply(call("count_files")),
            reply(call("create_bar_chart", id="folders", data=WRONG)),
            reply(call("create_bar_chart", id="folders", data=NEXT)),
            "Nothing was drawn.",
        ]
        agent = Agent(ScriptedProvider(script), tools=[checkout.count_files])
        run = agent.run_sync("Draw the folders.")
        shown = 0
        for message in run.state.history:
            for block in message.blocks:
                if isinstance(block, ToolResultBlock) and block.status == "invalid":
                    shown += 1
                    _print(json.loads(block.content))
    return 0 if shown == 2 else 1


def _print(refusal: dict[str, object]) -> None:
    problems = refusal["problems"]
    assert isinstance(problems, list)
    for problem in problems:
        print(f"   {problem['pointer']}: {problem['message']}")


if __name__ == "__main__":
    raise SystemExit(main())
