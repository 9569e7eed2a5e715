"""All figures of speed, as one table: what ``make bench`` prints.

    python bench/speed.py [--only turns,growth]

Each bench runs in a process of its own; ``python bench/turns.py --help`` and the like say what one
measures, and take its sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time

from measure import HERE, Row, print_table

BENCHES = ("turns", "growth", "replay", "many", "startup", "serve", "tools", "scale", "report")


def measured(bench: str) -> list[Row]:
    """The rows of one bench."""
    started = time.perf_counter()
    words = [sys.executable, str(HERE / f"{bench}.py"), "--json"]
    ended = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - started
    failed = f", failed: exit status {ended.returncode}" if ended.returncode else ""
    print(f"bench/{bench}.py: {seconds:.0f} s{failed}", file=sys.stderr)
    return [Row(**json.loads(line)) for line in ended.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(BENCHES), metavar="BENCHES")
    chosen = parser.parse_args().only.split(",")
    rows = [row for bench in chosen for row in measured(bench)]
    load = os.getloadavg()[0]
    print(f"{platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}\n")
    print_table(rows)


if __name__ == "__main__":
    main()
