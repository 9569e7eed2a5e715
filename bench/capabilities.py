"""A call of a workspace or host tool on this disk, with the durability of power.

    python bench/capabilities.py [--rounds 30] [--files 2000]

The folder has so many files; calls are made past the gate.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from artificer.config import Config
from artificer.contracts.capabilities import Capabilities, Grant, Host
from artificer.ports import Call
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import open_storage
from artificer.wiring.toolbox import ToolBox, build_tools
from measure import Contestant, Row, by_turns, main, row, spent_by

NUMBERS = count(1)
WORKSPACE = {"workspace": "w"}


def calls(last: int) -> dict[str, Callable[[int], tuple[str, dict[str, Any]]]]:
    """The tool and the arguments of the n-th call."""

    def edit(n: int) -> tuple[str, dict[str, Any]]:
        old, new = f"needle0{'x' * (n - 1)}\n", f"needle0{'x' * n}\n"
        return "host.edit", {"path": "d0/f0.py", "old": old, "new": new}

    def write(n: int) -> tuple[str, dict[str, Any]]:
        return "workspace.write", {**WORKSPACE, "files": [{"path": "d1/f", "text": f"text {n}"}]}

    return {
        "host.read": lambda n: ("host.read", {"path": "d0/f0.py"}),
        "host.edit": edit,
        "host.grep": lambda n: ("host.grep", {"pattern": f"needle{last}"}),
        "host.glob": lambda n: ("host.glob", {"pattern": f"**/f{last}.py"}),
        "workspace.write": write,
        "workspace.commit": lambda n: ("workspace.commit", WORKSPACE),
        "workspace.read": lambda n: ("workspace.read", {**WORKSPACE, "path": "d1/f"}),
    }


async def call(box: ToolBox, name: str, arguments: dict[str, Any]) -> None:
    definition = box.toolset.get(name)
    assert definition is not None
    number = next(NUMBERS)
    receipt = await box.executors[name].execute(
        Call("r", f"c{number}", definition, arguments, f"k{number}")
    )
    assert receipt.status == "ok", receipt.content


def fill(folder: Path, files: int) -> None:
    for number in range(files):
        file = folder / f"d{number % 50}" / f"f{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n" * 50 + f"needle{number}\n", encoding="utf-8")


def rows(rounds: int = 30, files: int = 2_000) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as temporary, asyncio.Runner() as runner:
        folder = Path(temporary) / "folder"
        fill(folder, files)
        config = Config(home=Path(temporary) / "home", project="p")
        storage = runner.run(open_storage(config))
        capabilities = Capabilities(
            host=Host(folder=str(folder)), workspaces=(Grant(names=("w",)),)
        )
        box = build_tools(
            [], kind="chat", world=WorldResources(config, storage), capabilities=capabilities
        )
        first = [{"path": f"d{n}/f", "text": str(n)} for n in range(60)]
        runner.run(call(box, "workspace.write", {**WORKSPACE, "version": 0, "files": first}))

        def contestant(work: Callable[[int], tuple[str, dict[str, Any]]]) -> Contestant:
            numbers = count(1)
            return lambda: runner.run(spent_by(call(box, *work(next(numbers)))))

        works = calls(files - 1)
        figures = by_turns({name: contestant(work) for name, work in works.items()}, rounds)
        runner.run(storage.aclose())
    for name in works:
        yield row(f"`{name}`, {files:,} files", figures, name)


if __name__ == "__main__":
    main(rows)
