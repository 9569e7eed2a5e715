"""Crash consistency of many workers: ``python bench/crash/cluster.py``, or ``make
bench-crash-cluster``.

A world in PostgreSQL, with large blobs in an S3 server (SeaweedFS), and real `artificer worker`
processes, each on a host of its own. Each run charges for an order, which nobody can be asked about
later, and books it at a registry that rejects older fencing tokens. Meanwhile something befalls the
cluster. What really happened is written down outside of it; in the end it is compared with what the
runs say:

  duplicate    effects beyond the first
  lost         records that were there and are gone, effects without a record, what verify finds
  misreported  calls said to have happened that have not, or the other way round
  unfinished   runs that do not come to their end
  unsure       no fault: nobody can know whether a call happened, and its result says that

As root on Linux each host has its own network namespace, machine id and boot id, and a cut loses
packets. Elsewhere hosts are folders, and relays between them and the servers are held up.

A seed decides who is struck, when and for how long; timing on a busy machine is not repeated. Ends
with 1 when there is a fault. CRASH_KEEP=FOLDER keeps the logs of trials with faults.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster_faults import FAULTS, SEVERAL, Chance, several
from cluster_hosts import ENTER, Hosts, Namespaces, Relays, has_namespaces
from cluster_judge import Verdict, judge
from cluster_servers import Servers, serving
from cluster_stage import ClusterStage, Facts

from artificer import World

WORDS = ("duplicate", "lost", "misreported", "unfinished")

Rows = dict[tuple[str, str], Verdict]
"""The verdicts, by the name of a fault and the dispatcher."""


def main() -> int:
    arguments = _arguments()
    if arguments.hosts != "relays" and not arguments.inside and has_namespaces():
        words = [*ENTER, sys.executable, *sys.argv, "--inside"]
        os.execvp(words[0], words)
    rows = asyncio.run(_play_all(arguments))
    facts = {dispatcher: _sums(rows, dispatcher) for dispatcher in arguments.dispatcher}
    if arguments.json:
        named = {
            f"{name} | {dispatcher}": row.to_json() for (name, dispatcher), row in rows.items()
        }
        print(json.dumps({"seed": arguments.seed, "rows": named}, indent=1))
    else:
        print(_markdown(rows, facts))
    return 1 if any(verdict.faults for verdict in rows.values()) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    kinds = ["local", "temporal"]
    add("--dispatcher", nargs="+", choices=kinds, default=kinds, help="who hands runs out")
    add("--fault", nargs="+", help="the faults whose names have this in them: --fault cut killed")
    add("--trials", type=int, default=2, help="of each fault and dispatcher (2)")
    add("--workers", type=int, default=3, help="one on each host (3)")
    add("--runs", type=int, default=60, help="of each trial (60)")
    add("--lease", type=float, default=3.0, help="seconds of a worker's lease (3)")
    add("--patience", type=float, default=150.0, help="seconds until runs must be over (150)")
    add("--hosts", choices=["relays", "namespaces"], help="namespaces, where that is possible")
    add("--seed", default=secrets.token_hex(4), help="chosen by chance, and printed")
    add("--json", action="store_true")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


async def _play_all(arguments: argparse.Namespace) -> Rows:
    """Play all trials: each fault with each dispatcher."""
    rows: Rows = {}
    wanted = arguments.fault or [""]
    names = [name for name in (*FAULTS, SEVERAL) if any(word in name for word in wanted)]
    with _hosts(arguments) as hosts, serving(hosts, "temporal" in arguments.dispatcher) as servers:
        _say(f"seed {arguments.seed}; hosts are {type(hosts).__name__.lower()}")
        for number in range(arguments.trials):
            for dispatcher in arguments.dispatcher:
                for name in names:
                    if name.endswith("temporal") and dispatcher != "temporal":
                        continue
                    facts = Facts(
                        dispatcher,
                        arguments.workers,
                        arguments.runs,
                        lease=arguments.lease,
                        patience=arguments.patience,
                    )
                    seed = f"{arguments.seed} {name} {dispatcher} {number}"
                    verdict = await _play(facts, hosts, servers, name, seed)
                    rows.setdefault((name, dispatcher), Verdict()).add(verdict)
    return rows


@contextmanager
def _hosts(arguments: argparse.Namespace) -> Iterator[Hosts]:
    hosts = Namespaces(arguments.workers) if arguments.inside else Relays(arguments.workers)
    try:
        yield hosts
    finally:
        hosts.close()


async def _play(facts: Facts, hosts: Hosts, servers: Servers, name: str, seed: str) -> Verdict:
    """Play a trial."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="cluster-", ignore_cleanup_errors=True) as folder:
        stage = ClusterStage(facts, hosts, servers, Path(folder), f"crash_{secrets.token_hex(6)}")
        chance = Chance(seed, stage)
        try:
            verdict = await _befall(stage, chance, name)
        finally:
            stage.kill_all()
            stage.mend_all()
        if verdict.faults and "CRASH_KEEP" in os.environ:
            shutil.copytree(folder, Path(os.environ["CRASH_KEEP"]) / stage.name)
    seconds = time.monotonic() - began
    said = f"{name}, {facts.dispatcher}: {_counts(verdict)}; {'; '.join(chance.said)}"
    _say(f"{said}; {seconds:.0f} s in all")
    for why in verdict.why[:8]:
        _say(f"    {why}")
    return verdict


async def _befall(stage: ClusterStage, chance: Chance, name: str) -> Verdict:
    """Have the workers execute runs while it strikes; judge when all is over."""
    quiet = asyncio.Event()
    async with World.open(stage.config) as world:
        watching = asyncio.create_task(stage.watch())
        for worker in stage.workers:
            worker.start()
        submitting = asyncio.create_task(stage.submit(world, quiet))
        before = chance.number(1, stage.facts.runs // 3)
        if not await stage.until(lambda: stage.charges >= before, stage.facts.patience):
            raise SystemExit(f"the workers do not begin:\n{stage.log()[-4_000:]}")
        await FAULTS.get(name, several)(chance)
        quiet.set()
        await submitting
        over = await stage.until_over(world)
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        stage.kill_all()
        return await judge(stage, world, over)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _counts(verdict: Verdict) -> str:
    found = [f"{getattr(verdict, word)} {word}" for word in WORDS if getattr(verdict, word)]
    return f"{', '.join(found) or 'no fault'} ({verdict.unsure} unsure)"


def _sums(rows: Rows, dispatcher: str) -> Verdict:
    found = Verdict()
    for (_, kind), verdict in rows.items():
        if kind == dispatcher:
            found.add(verdict)
    return found


def _markdown(rows: Rows, sums: dict[str, Verdict]) -> str:
    """Every fault with every dispatcher, then the sums."""
    lines = [
        "| | dispatcher | trials | runs | " + " | ".join(WORDS) + " | unsure |",
        "| --- | --- |" + " --: |" * (len(WORDS) + 3),
    ]
    for (name, dispatcher), verdict in rows.items():
        lines.append(_line(name, dispatcher, verdict))
    lines += [_line("in all", dispatcher, verdict) for dispatcher, verdict in sums.items()]
    return "\n".join(lines)


def _line(name: str, dispatcher: str, verdict: Verdict) -> str:
    counts = (getattr(verdict, word) for word in ("trials", "runs", *WORDS, "unsure"))
    return f"| {name} | {dispatcher} | " + " | ".join(map(str, counts)) + " |"


if __name__ == "__main__":
    sys.exit(main())
