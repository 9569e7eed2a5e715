"""How long it takes to begin: whole processes, as multiples of ``python -c pass``.

Run it with ``make bench``, or ``python bench/startup.py [ROUNDS]``. The commands take turns, so
that a busy moment hits all of them; the median of the rounds is quoted. Peers are measured when
they are installed.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time

FLOOR = "python -c pass"
COMMANDS: dict[str, list[str]] = {
    FLOOR: ["-c", "pass"],
    "import artificer": ["-c", "import artificer"],
    "artificer --help": ["-m", "artificer", "--help"],
    "import artificer, every public name": [
        "-c",
        "import artificer\nfor name in artificer.__all__: getattr(artificer, name)",
    ],
}
PEERS = {
    "pydantic_ai": "from pydantic_ai import Agent",
    "langgraph": "from langgraph.graph import StateGraph",
    "agents": "from agents import Agent",
    "google.adk": "from google.adk.agents import Agent",
}


def seconds(arguments: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    commands = dict(COMMANDS)
    for module, statement in PEERS.items():
        if installed(module):
            commands[statement] = ["-c", statement]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for arguments in commands.values():
        seconds(arguments)  # warm the file cache
    for _ in range(rounds):
        for name, arguments in commands.items():
            times[name].append(seconds(arguments))
    floor = statistics.median(times[FLOOR])
    print(f"median of {rounds} rounds; a round runs every command once")
    print(f"{'command':<40} {'seconds':>8} {'x floor':>8}")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:<40} {middle:8.3f} {middle / floor:8.1f}")


if __name__ == "__main__":
    main()
