"""Limits on the shape of the source: sizes, imports, names, and what the public interface says.

The source is read, not run. An exception stands here with its reason, and fails when it
is no longer needed.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

CLASS_LINES = 250
FUNCTION_LINES = 60  # with its docstring
FILE_LINES = 500
PARAMETERS = 8

LAZY = {
    "artificer.cli": "a command imports what it runs, so that `--help` is instant",
    "artificer.__main__": "Ctrl-C may come while the command line is imported",
    "artificer.archive": "a command reads one thing of a world",
    "artificer.backends.mcp.connection": "most servers are programs, and need no HTTP client",
    "artificer.artifacts.binding.sources": "most results are cited by nothing",
    "artificer.contracts.response_format": "most runs ask for no format",
    "artificer.core.gate": "most turns make no artifact",
    "artificer.dispatch.temporal.kind": "Temporal is an extra, and most workers do without",
    "artificer.executing": "most runs fork nothing and build nothing",
    "artificer.maintenance": "only pruning looks at builds",
    "artificer.policies.engine": "Cedar is an extra, and most policies do without",
    "artificer.policies.load": "Cedar is an extra, and most policies do without",
    "artificer.providers.sdk": "HTTPX comes with an SDK, and is slow to import",
    "artificer.runs": "what renders a run is imported when it is rendered",
    "artificer.storage.postgres.kind": "PostgreSQL is an extra, and most worlds are in a folder",
    "artificer.storage.postgres.storage": "object stores are an extra, and many worlds need none",
    "artificer.telemetry.enable": "OpenTelemetry is an extra, and disabled unless it is loaded",
    "artificer.wiring.assemble": "most runs build nothing",
    "artificer.wiring.forks": "most forks are not of builds",
    "artificer.wiring.resources": "most programs list no runs, and read no events",
    "artificer.wiring.policies": "Cedar is an extra, and most policies do without",
    "artificer.wiring.storage": "most worlds are not in memory",
    "artificer.world": "most runs read no others, and nobody reads their events",
}
"""Modules whose functions may import our own modules, and why. A package means all of it."""

FORBIDDEN = {
    "letter": "signal",
    "letters": "signals",
    "wish": "job",
    "wishes": "jobs",
    "purse": "budget",
    "told": "summary",
    "given": "spec",
    "asked": "request",
    "said": "message, text, notice, result",
    "hear": "receive, read",
    "heard": "received, considered",
    "owes": "delivers",
    "owed": "required",
    "stirred": "woken",
    "whoever": "reader, caller",
    "anew": "again",
    "most": "limit",
    "drive": "run loop",
    "drives": "run loop",
    "driven": "run loop",
    "rest": "idle",
    "rested": "idle",
    "rests": "idle",
    "alone": "exclusive_lock",
    "to_the_end": "shielded",
    "facilities": "capabilities",
    "cassette": "recording",
    "cassettes": "recordings",
}
"""Words that no name of ours has, and the term to use instead."""

RECORDED = {
    "src/artificer/builds/facts.py:ConsentGiven": "a fact",
    "src/artificer/builds/facts.py:RunRested": "a fact",
    "src/artificer/core/events.py:letter": "a field of events",
    "src/artificer/core/intents.py:told": "a field of the intent Compact",
    "src/artificer/core/intents.py:wish": "a field of the intent AdvanceBuild",
    "src/artificer/core/spec.py:facilities": "a field of RunSpec",
    "src/artificer/core/state.py:letters": "a field of RunState",
    "src/artificer/core/state.py:said": "a field of RunState",
    "src/artificer/core/window.py:told": "a field of Window",
    "src/artificer/recordings/file.py:cassette": "a field of the header",
}
"""Names that have a forbidden word because journals and recordings hold them: ``place:name``."""

IN_SCHEMAS = {
    "src/artificer/artifacts/chart.py:StackedBarChart": "in a tool's schema, which requests hold",
    "src/artificer/artifacts/judgement.py:Judged": "in a tool's schema, which requests hold",
}
"""Docstrings that reach the model in a schema, so that their text is a format."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Finder = Callable[[], Iterable[str]]


@dataclass(frozen=True)
class Module:
    """One file of the source."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        return str(self.path.relative_to(ROOT))


def _read(folder: Path, pattern: str = "") -> Iterator[Module]:
    """The modules of a folder in which something matches the pattern."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(SOURCE if folder == SOURCE else ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        if re.search(pattern, text):
            yield Module(name, path, text, ast.parse(text))


@cache
def modules() -> dict[str, Module]:
    return {module.name: module for module in _read(SOURCE)}


@cache
def that_may_explain_what() -> list[Module]:
    """All modules with a text that begins with "What", ours and those around them."""
    folders = (SOURCE, *(ROOT / name for name in ("tests", "bench", "examples", "docs")))
    return [module for folder in folders for module in _read(folder, r"(?i)[\"']\s*what\s")]


def definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition | ast.ClassDef]]:
    """Every class and function with its qualified name. Only statements hold statements."""
    for child in _statements(node):
        if isinstance(child, ast.ClassDef | Definition):
            yield prefix + child.name, child
            yield from definitions(child, f"{prefix}{child.name}.")
        else:
            yield from definitions(child, prefix)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        if isinstance(found := getattr(node, name, None), list):
            yield from found


def _sized(kind: type | tuple[type, ...], limit: int) -> Iterator[str]:
    for module in modules().values():
        for name, node in definitions(module.tree):
            if isinstance(node, kind) and (node.end_lineno or 0) - node.lineno >= limit:
                yield f"{module.place}:{name}"


def large_classes() -> Iterator[str]:
    yield from _sized(ast.ClassDef, CLASS_LINES)


def long_functions() -> Iterator[str]:
    yield from _sized((ast.FunctionDef, ast.AsyncFunctionDef), FUNCTION_LINES)


def long_files() -> Iterator[str]:
    for module in modules().values():
        if module.text.count("\n") > FILE_LINES:
            yield module.place


def many_parameters() -> Iterator[str]:
    """Functions with too many parameters."""
    for module in modules().values():
        for name, node in definitions(module.tree):
            if isinstance(node, ast.ClassDef):
                continue
            names = [p.arg for p in (*node.args.posonlyargs, *node.args.args)]
            own = names[:1] in (["self"], ["cls"])
            if len(names) + len(node.args.kwonlyargs) - own > PARAMETERS:
                yield f"{module.place}:{name}"


@cache
def inner_imports() -> list[str]:
    """Modules that import one of ours within a function."""
    return [module.name for module in modules().values() if _imports_within(module)]


def _imports_within(module: Module) -> bool:
    if not re.search(r"^[ \t]+(?:import|from)\b", module.text, re.MULTILINE):
        return False  # to look at every statement takes long
    inner = (
        ast.unparse(statement)
        for _, node in definitions(module.tree)
        for statement in ast.walk(node)
        if isinstance(statement, ast.Import | ast.ImportFrom)
    )
    return any(re.search(r"\bartificer\b|^from \.", statement) for statement in inner)


def eager_imports() -> Iterator[str]:
    """Those of them that have no reason."""
    for name in inner_imports():
        if not any(f"{name}.".startswith(f"{lazy}.") for lazy in LAZY):
            yield name


@cache
def what_docstrings() -> list[str]:
    """Docstrings that begin with "What", those of attributes included."""
    return list(_what_docstrings())


def _what_docstrings() -> Iterator[str]:
    for module in that_may_explain_what():
        for name, node in (("", module.tree), *definitions(module.tree)):
            found = (name, ast.get_docstring(node) or ""), *_attribute_docstrings(node, name)
            for owner, text in found:
                place = f"{module.place}:{owner}"
                if text.lower().startswith("what "):
                    yield place


def _attribute_docstrings(
    node: ast.Module | ast.ClassDef | Definition, owner: str
) -> Iterator[tuple[str, str]]:
    """The texts that follow the assignments of a module or a class, with the attributes' names."""
    if isinstance(node, Definition):
        return
    for assignment, follower in pairwise(node.body):
        if not isinstance(assignment, ast.Assign | ast.AnnAssign):
            continue
        match follower:
            case ast.Expr(value=ast.Constant(value=str(text))):
                targets = getattr(assignment, "targets", None) or [assignment.target]
                name = ast.unparse(targets[0])
                yield f"{owner}.{name}" if owner else name, inspect.cleandoc(text)


def homonyms() -> Iterator[str]:
    """Public classes and type aliases of one name in several modules."""
    homes: dict[str, set[str]] = defaultdict(set)
    for module in modules().values():
        for name in _types(module.name):
            if not name.startswith("_"):
                homes[name].add(module.name)
    for name, found in homes.items():
        if len(found) > 1:
            yield name


@cache
def _types(module: str) -> dict[str, ast.ClassDef | ast.expr]:
    """The classes and aliases that a module defines at its top."""
    found: dict[str, ast.ClassDef | ast.expr] = {}
    for node in modules()[module].tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and re.match(r"_?[A-Z]\w*[a-z]", target.id):
                    found[target.id] = node.value
    return found


@cache
def forbidden_words() -> list[str]:
    """Names with a word that has a better term: ``place:name``."""
    return [f"{module.place}:{name}" for module, name in _forbidden_names()]


def _forbidden_names() -> Iterator[tuple[Module, str]]:
    for module in modules().values():
        names = {module.path.stem, module.path.parent.name, *_defined(module.tree)}
        for name in sorted(names):
            parts = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
            if parts & FORBIDDEN.keys() or "to_the_end" in name:
                yield module, name


def _defined(tree: ast.Module) -> Iterator[str]:
    """Every name that a module defines or binds. What remains of a list may be called ``rest``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | Definition):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != "rest":
            yield node.id


# ── the public interface ──────────────────────────────────────────────────────────────────────────


@cache
def public() -> dict[str, str]:
    """The public names (of the doors, the ports and the events), and where each is defined."""
    found = {}
    for door in ("artificer", "artificer.types", "artificer.extend"):
        for name, home in _doors(door):
            found[name] = resolved(f"artificer.{home}", name)
    for name, (home, original) in _imported("artificer.ports").items():
        found[name] = resolved(home, original)
    for module in ("artificer.events", "artificer.errors"):
        found |= {name: f"{module}:{name}" for name in _types(module) if name[0] != "_"}
    return found


def _doors(name: str) -> Iterator[tuple[str, str]]:
    """The names that a public module offers, and their homes."""
    module = modules().get(name)
    for node in module.tree.body if module else ():
        if not isinstance(node, ast.Assign):
            continue
        if ast.unparse(node.targets[0]) == "_HOMES":
            yield from ast.literal_eval(node.value).items()
        elif ast.unparse(node.targets[0]) == "_NAMES":
            for home, names in ast.literal_eval(node.value).items():
                yield from ((name, home) for name in names)


def resolved(module: str, name: str) -> str:
    """Follow imports to where a name is defined; ``""`` where that is outside of our source."""
    if f"{module}.{name}" in modules():
        return f"{module}.{name}"
    if module not in modules():
        return ""
    if name in _types(module) or name in _functions(module):
        return f"{module}:{name}"
    origin = _imported(module).get(name)
    return resolved(*origin) if origin else ""


@cache
def _functions(module: str) -> dict[str, Definition]:
    return {n.name: n for n in modules()[module].tree.body if isinstance(n, Definition)}


@cache
def _imported(module: str) -> dict[str, tuple[str, str]]:
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(modules()[module].tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def private_types() -> Iterator[str]:
    """Classes that a public signature names and nobody can import from a public place."""
    known = set(public().values())
    for target in sorted(known - {""}):
        for found in sorted(_named(target)):
            if found not in known:
                yield found.replace(":", ".")


@cache
def _named(target: str) -> frozenset[str]:
    """Our classes in the signature of a class, a function or an alias."""
    module, _, name = target.partition(":")
    node = _functions(module).get(name) or _types(module).get(name)
    found: set[str] = set()
    for annotation in _annotations(module, node):
        found |= _classes(module, annotation)
    return frozenset(found)


def _annotations(
    module: str, node: Definition | ast.ClassDef | ast.expr | None
) -> Iterator[ast.expr]:
    if isinstance(node, Definition):
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        yield from (a.annotation for a in every if a.annotation)
        yield from (a.annotation for a in (arguments.vararg, arguments.kwarg) if a and a.annotation)
        if node.returns:
            yield node.returns
    elif isinstance(node, ast.ClassDef):
        for base in node.bases:
            home, _, name = resolved(module, ast.unparse(base)).partition(":")
            if name and name not in public():
                yield from _annotations(home, _types(home).get(name))
        for part in node.body:
            if isinstance(part, ast.AnnAssign) and not ast.unparse(part.target).startswith("_"):
                yield part.annotation
            elif isinstance(part, Definition) and _is_public(part.name):
                yield from _annotations(module, part)
    elif node is not None:
        yield node


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in ("__init__", "__call__", "__aenter__", "__iter__")


def _classes(module: str, annotation: ast.expr, within: frozenset[str] = frozenset()) -> set[str]:
    """Our classes that an annotation names. An alias means what it is made of, itself perhaps."""
    found: set[str] = set()
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.isidentifier():
                found |= _classes(module, ast.Name(node.value), within)
        elif isinstance(node, ast.Name) and (target := resolved(module, node.id)):
            home, _, name = target.partition(":")
            defined = _types(home).get(name) if name else None
            if isinstance(defined, ast.ClassDef):
                found.add(target)
            elif defined is not None and target not in within:
                found |= _classes(home, defined, within | {target})
    return found


# ── the gates ─────────────────────────────────────────────────────────────────────────────────────

GATES: dict[str, Finder] = {
    "class": large_classes,
    "function": long_functions,
    "file": long_files,
    "parameters": many_parameters,
    "import": eager_imports,
    "private-type": private_types,
    "what": lambda: (place for place in what_docstrings() if place not in IN_SCHEMAS),
    "same-name": homonyms,
    "word": lambda: (place for place in forbidden_words() if place not in RECORDED),
}


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Drop the syntax trees at the end: a million objects, which every collection looks at."""
    yield
    for cached in (modules, that_may_explain_what, _types, _functions):
        cached.cache_clear()


@pytest.mark.req("shape-limits")
@pytest.mark.xdist_group("shape")
@pytest.mark.parametrize("gate", GATES)
def test_nothing_breaks_a_limit(gate: str) -> None:
    assert sorted(GATES[gate]()) == []


@pytest.mark.req("shape-limits")
@pytest.mark.xdist_group("shape")  # it has read the source already
def test_every_exception_is_needed() -> None:
    assert RECORDED.keys() - set(forbidden_words()) == set()
    assert IN_SCHEMAS.keys() - set(what_docstrings()) == set()
    lazy = [f"{name}." for name in inner_imports()]
    assert [name for name in LAZY if not any(m.startswith(f"{name}.") for m in lazy)] == []
