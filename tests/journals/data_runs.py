"""A run whose results are data: of a program and of a function, long and short, and of none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from artificer import tool
from artificer.backends.command.executor import CommandExecutor
from artificer.backends.function.executor import FunctionExecutor
from artificer.backends.loader import load_folder
from artificer.core.spec import Limits
from artificer.ports import Call, Executor, Receipt
from artificer.providers.scripted import call, reply, say
from artificer.testing.rig import Rig
from artificer.values.base import JsonObject

BINDS: JsonObject = {
    "type": "object",
    "properties": {"data": {"type": "object", "properties": {"call": {"type": "string"}}}},
}
"""The arguments of a tool whose artifacts are bound, as far as labels need them."""

MANIFEST = r"""
[tool]
name = "disk_usage"
version = "1"
description = "List folders and their bytes."
effect = "pure"
[command]
exec = ["printf", "name,bytes\né 😀,1.10\n\"a,b\",12345678901234567890\nc\n"]
[output]
format = "csv"
"""


@tool(effect="pure")
async def measure(rows: int) -> Any:
    """Return rows with numbers of every form, or NaN for none."""
    await asyncio.sleep(0.01 / (rows + 1))  # the first of two calls returns last
    if not rows:
        return {"n": float("nan")}
    return {"when": "2024-02-29", "rows": [{"n": n, "share": n / 7, "é": "x"} for n in range(rows)]}


async def data(run: Rig) -> None:
    """Results with and without data; two concurrent calls of one tool; the same call again."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "disk_usage.clad.toml").write_text(MANIFEST, encoding="utf-8")
        _delegate(run, CommandExecutor(load_folder(Path(folder)), cwd=Path(folder)))
        _delegate(run, FunctionExecutor([measure]))

        async def bind(call: Call) -> str:
            return "bound"

        run.tools.add("bind", bind, schema=BINDS, backend="artifact")
        turns = [
            reply(call("disk_usage"), call("measure", rows=1), call("measure", rows=200)),
            reply(call("measure", rows=0), call("measure", rows="many"), call("echo", x=1)),
            reply(call("disk_usage"), call("fail")),
            say("Done."),
        ]
        await run.run(turns, limits=Limits(result_chars=1_000, concurrency=4))


def _delegate(run: Rig, executor: Executor) -> None:
    async def perform(call: Call) -> Receipt:
        return await executor.execute(call)

    for definition in executor.tools:
        run.tools.add(
            definition.name,
            perform,
            schema=definition.input_schema,
            backend=definition.backend,
            description=definition.description,
        )
