"""The benches of speed run: how fast anything is, no test says."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import preloaded
from needs import needs
from sampling import sample

BENCH = Path(__file__).parents[2] / "bench"
SMALLEST = {
    "turns": {"rounds": 1, "turns": 2},
    "replay": {"records": 700, "rounds": 1},
    "journal": {"rounds": 1, "appends": 4, "runs": 2},
    "capabilities": {"rounds": 1, "files": 60},
    "tools": {"rounds": 1, "mebibytes": 1, "ballast": 1},
    "scale": {"runs": 30, "small": 5, "rounds": 1},
    "serve": {"rounds": 1, "runs": 2, "concurrent": 2, "pause_ms": 0},
    "studio": {"watchers": 2, "rounds": 1, "runs": 30, "turns": 1, "browser": 0},
    "many": {"runs": 3, "turns": 2, "waiting_runs": 2},
}
DRAWN = 5
"""How many of them a commit runs."""

AT_ONCE = 3
"""They start many processes, each of which imports and waits for its disk."""

PROGRAM = """
import dataclasses, importlib, json, sys
for bench, sizes in json.loads(sys.argv[1]).items():
    for row in importlib.import_module(bench).rows(**sizes):
        print(json.dumps([bench, dataclasses.asdict(row)]))
"""


@pytest.mark.req("benches-run")
def test_every_bench_measures_something(tmp_path: Path) -> None:
    """In a few processes, with one child each for what must be measured in a child."""
    names = sample(list(SMALLEST), DRAWN, purpose="benches")
    shares = [{name: SMALLEST[name] for name in names[n::AT_ONCE]} for n in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(lambda share: check(share, tmp_path), shares))


@pytest.mark.req("benches-run")
@needs("pg_ctlcluster")
def test_the_bench_of_a_cluster_measures_something(tmp_path: Path) -> None:
    """With a server and a worker."""
    check(
        {"cluster": {"runs": 2, "appends": 2, "only": "appends,costs"}},
        tmp_path,
    )


def check(benches: dict[str, dict[str, Any]], folder: Path) -> None:
    words = ["-c", PROGRAM, json.dumps(benches)]
    environment = {**os.environ, "PYTHONPATH": str(BENCH), "TMPDIR": str(folder)}
    ended = preloaded.run(words, capture_output=True, text=True, env=environment)
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert {bench for bench, _ in rows} == set(benches)
    assert all(row["what"] and row["unit"] for _, row in rows)
    assert all(row["ours"] >= 0 for _, row in rows)
