"""No runtime at all: the loop that everyone writes first, its messages in a file.

What a runtime has to be better than; and the proof that these trials can fail.
"""

from __future__ import annotations

import json
import os
from typing import Any

from outside import NothingToResumeError, Outside

NAME = "a plain loop"
WARM = True
CHILDREN = False
PROBES = False
NOT = {"approval pending": "it has none"}


def version() -> str:
    return ""


async def drive(outside: Outside) -> None:
    file = outside.state / "messages.json"
    if outside.resumed and not file.exists():
        raise NothingToResumeError
    messages: list[Any] = json.loads(file.read_text()) if outside.resumed else []

    def save() -> None:
        with (outside.state / "new").open("w") as new:
            json.dump(messages, new)
            new.flush()
            os.fsync(new.fileno())
        (outside.state / "new").rename(file)

    save()
    while True:
        replies = [m for m in messages if m["role"] == "assistant"]
        told = [(m["order"], m["content"]) for m in messages if m["role"] == "tool"]
        for call in replies[-1]["calls"] if replies else ():
            if call not in [m["call"] for m in messages if m["role"] == "tool"]:
                content = await outside.charge(call[1])
                told.append((call[1], content))
                messages.append(
                    {"role": "tool", "call": call, "order": call[1], "content": content}
                )
                save()
        said = outside.model(len(replies), told)
        messages.append({"role": "assistant", "calls": [list(c) for c in said.calls]})
        save()
        if not said.calls:
            return
