"""Change the program in small ways, one at a time, and count the changes that no test notices.

mutmut makes the mutants and runs the tests; this chooses which: a random sample of each package,
the same for the same seed. Each is given the tests that reach its function, the most direct first,
as many as take some seconds together: what survives them may still fall to the others.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path("mutants")
MUTMUT = str(Path(sys.executable).parent / "mutmut")
SAMPLE = {"core": 300, "storage": 90, "runtime": 120, "contracts": 90}
SECONDS = 2.0  # of tests for each mutant
STATUS = {0: "survived", 1: "killed", 3: "killed", 5: "untested", 33: "untested", None: "unchecked"}

SCOPE = {
    "core": "gate artifact_calls calls replies lifecycle turns budget reported repeats context"
    " window measure reports policy conditions",
    "storage": "chain notes recomputed audit transaction anchor budget checked",
    "runtime": "recovery ledger budgets load replay snapshot engine run_loop",
}
"""The modules that decide. Of a package that is not named here every module is meant."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", default="1")
    options.add_argument("--size", type=int, help="of each package's sample")
    options.add_argument("--all", action="store_true", help="every mutant, not a sample")
    options.add_argument("--children", default="2", help="how many mutants run at once")
    options.add_argument("--report", action="store_true", help="show the last results again")
    asked = options.parse_args()
    if not asked.report:
        (HERE / "mutmut-stats.json").unlink(missing_ok=True)  # the tests may be others now
        _mutmut(asked.children, ["artificer.core.rules.x_since*"])  # makes mutants, times tests
        _trim()
        chosen = {
            package: names if asked.all else _sample(package, names, asked.seed, asked.size)
            for package, names in sorted(_candidates().items())
        }
        (HERE / "chosen.json").write_text(json.dumps(chosen, indent=1))
        _mutmut(asked.children, [name for names in chosen.values() for name in names])
    _report(json.loads((HERE / "chosen.json").read_text()))


def _mutmut(children: str, names: list[str]) -> None:
    subprocess.run([MUTMUT, "run", "--max-children", children, *names], check=True)


def _sample(package: str, names: list[str], seed: str, size: int | None) -> list[str]:
    wanted = min(size or SAMPLE[package], len(names))
    return random.Random(f"{seed} {package}").sample(names, wanted)


def _candidates() -> dict[str, list[str]]:
    """The mutants of each package, without those that change only the wording of a text."""
    found: dict[str, list[str]] = defaultdict(list)
    for meta in sorted(HERE.glob("src/artificer/*/**/*.py.meta")):
        package = meta.relative_to(HERE / "src" / "artificer").parts[0]
        module = meta.name.removesuffix(".py.meta")
        if package not in SAMPLE or module not in SCOPE.get(package, module).split():
            continue
        functions = _functions(meta.with_suffix(""))
        for name in json.loads(meta.read_text())["exit_code_by_key"]:
            mutant = name.rpartition(".")[2]
            original = mutant.rpartition("__mutmut_")[0] + "__mutmut_orig"
            if _meaning(functions[mutant]) != _meaning(functions[original]):
                found[package].append(name)
    return found


def _functions(path: Path) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: node for node in ast.walk(tree) if isinstance(node, kinds)}


def _meaning(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Its effect without its wording: a text of more than one word is any text."""
    for node in ast.walk(function):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            node.value = " "
    return ast.dump(ast.Module(function.body, []))


def _trim() -> None:
    """Leave each function its most direct tests: those that reach the fewest functions."""
    stats = json.loads((HERE / "mutmut-stats.json").read_text())
    reach = Counter(
        test for tests in stats["tests_by_mangled_function_name"].values() for test in tests
    )
    for function, tests in stats["tests_by_mangled_function_name"].items():
        stats["tests_by_mangled_function_name"][function] = _direct(
            sorted(tests, key=lambda test: (reach[test], test)), stats["duration_by_test"]
        )
    (HERE / "mutmut-stats.json").write_text(json.dumps(stats))


def _direct(tests: list[str], seconds: dict[str, float]) -> list[str]:
    """As many as take `SECONDS`: in turn the next of each file, so that no file is left out."""
    files: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        files[test.partition("::")[0]].append(test)
    taken, spent = [], 0.0
    for place in range(max(map(len, files.values()), default=0)):
        for theirs in files.values():
            if place < len(theirs) and (not taken or spent + seconds[theirs[place]] <= SECONDS):
                taken.append(theirs[place])
                spent += seconds[theirs[place]] + 0.005
    return taken


def _report(chosen: dict[str, list[str]]) -> None:
    codes: dict[str, int | None] = {}
    for meta in HERE.glob("src/artificer/*/**/*.py.meta"):
        codes |= json.loads(meta.read_text())["exit_code_by_key"]
    print("| package | mutants | killed | timeouts | survived | reached by no test | score |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for package, names in chosen.items():
        n = Counter(STATUS.get(codes[name], "timeout") for name in names)
        done = sum(n.values()) - n["unchecked"]
        score = (n["killed"] + n["timeout"]) / max(1, done)
        columns = (done, n["killed"], n["timeout"], n["survived"], n["untested"], f"{score:.0%}")
        print("|", " | ".join(map(str, (package, *columns))), "|")
    for name in sorted(name for names in chosen.values() for name in names):
        if STATUS.get(codes[name]) in ("survived", "untested"):
            print(STATUS[codes[name]], name)


if __name__ == "__main__":
    main()
