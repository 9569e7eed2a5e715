"""Crash consistency of agent runtimes: ``python bench/crash/run.py``, or ``make bench-crash``.

Kills real processes at every place that matters, resumes each runtime as its own documentation
says, and counts by ledgers outside the runtime what became of effects and of paid model calls.
Runtimes that are not installed are passed over.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from disk import build
from scenarios import SCENARIOS
from stage import Stage

import report

ADAPTERS = {
    "artificer": "artificer",
    "plain_loop": "json",
    "pydantic_ai": "pydantic_ai_harness",
    "langgraph": "langgraph",
    "openai_agents": "agents",
    "guarded_pydantic_ai": "pydantic_ai",
    "guarded_langgraph": "langgraph",
    "guarded_openai_agents": "agents",
    "adk": "google.adk",
    "dbos": "dbos",
}
"""Each adapter, and the module without which it is passed over."""


def main() -> int:
    arguments = _arguments()
    if arguments.serve:
        return _serve(arguments)
    wanted = arguments.only or [name for name, module in ADAPTERS.items() if _installed(module)]
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))
        for name in wanted:
            results[name] = _ask(name, library, arguments)
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        print(report.markdown(results))
    faults = sum(row["faults"] for row in results.get("artificer", {}).get("rows", []))
    return 1 if faults else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(ADAPTERS), help="these runtimes")
    parser.add_argument("--scenario", nargs="+", help="the scenarios whose names begin so")
    parser.add_argument("--most", type=int, default=24, help="most points of one kind of failure")
    parser.add_argument("--seed", type=int, help="draw these points, and do not spread them evenly")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    return parser.parse_args()


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _ask(name: str, library: Path | None, arguments: argparse.Namespace) -> dict[str, Any]:
    """Try one runtime, in a process of its own."""
    command = [sys.executable, __file__, "--serve", name, "--most", str(arguments.most)]
    if arguments.scenario:
        command += ["--scenario", *arguments.scenario]
    if arguments.seed is not None:
        command += ["--seed", str(arguments.seed)]
    environment = {**os.environ, **({"LD_PRELOAD": str(library)} if library else {})}
    found: dict[str, Any] = {"rows": []}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            fact = json.loads(line)
            found["rows"].append(fact) if "scenario" in fact else found.update(fact)
            print(f"{name}: {fact}", file=sys.stderr, flush=True)
    if process.returncode:
        found["failed"] = f"The trials ended with {process.returncode}."
    return found


def _serve(arguments: argparse.Namespace) -> int:
    adapter: Any = importlib.import_module(f"adapters.{arguments.serve}")
    stage = Stage(adapter, arguments.seed)
    print(json.dumps({"name": adapter.NAME, "version": adapter.version()}), flush=True)
    for scenario in SCENARIOS:
        if not any(scenario.name.startswith(s) for s in arguments.scenario or [""]):
            continue
        for row in _rows(adapter, stage, scenario, arguments.most):
            print(json.dumps({"scenario": scenario.name, **row}), flush=True)
    return 0


def _rows(adapter: Any, stage: Stage, scenario: Any, most: int) -> Iterator[dict[str, Any]]:
    reason = adapter.NOT.get(scenario.name)
    if scenario.children and not adapter.CHILDREN:
        reason = reason or "not tried"
    elif scenario.probe and not adapter.PROBES:
        reason = reason or "it asks no tool what happened"
    elif scenario.disk and not stage.disk:
        reason = "needs Linux and a C compiler"
    if reason:
        yield {"not": reason, "faults": 0}
        return
    started = time.monotonic()
    stage.errors.clear()
    counts = scenario.play(stage, most)
    seconds = round(time.monotonic() - started, 1)
    errors = sorted(set(stage.errors))[:3]
    yield {**asdict(counts), "faults": counts.faults, "seconds": seconds, "errors": errors}


if __name__ == "__main__":
    sys.exit(main())
