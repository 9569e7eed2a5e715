"""Graphs of named dependencies: their faults, an order, and what a change affects.

Every function is deterministic and none recurses, because a model's graph can be as deep as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from artificer.artifacts.names import normal_name
from artificer.values.base import JsonValue, Problem

Graph = Mapping[str, Sequence[str]]
"""For each name, the names it depends on."""


def graph_problems(
    names: Sequence[JsonValue], wanted: Sequence[Sequence[JsonValue]], at: str
) -> Iterator[Problem]:
    """Yield unknown, repeated and self dependencies, and cycles, each once.

    ``wanted`` are the dependencies of each name; ``at`` is the pointer to the list of names.
    """
    known: dict[str, int] = {}
    for index, name in enumerate(names):
        if isinstance(name, str) and name.strip():
            known.setdefault(name, index)
    edges: dict[str, list[str]] = {name: [] for name in known}
    for index, (name, dependencies) in enumerate(zip(names, wanted, strict=True)):
        seen: set[str] = set()
        for place, dependency in enumerate(dependencies):
            if not isinstance(dependency, str):
                continue
            pointer = f"{at}/{index}/dependencies/{place}"
            if dependency in seen:
                yield Problem(pointer=pointer, message="is named twice", actual=dependency[:80])
            elif dependency == name:
                yield Problem(
                    pointer=pointer, message=f"depends on itself: {name} → {name}", actual=name
                )
            elif dependency not in known:
                yield _unknown(dependency, pointer, list(known))
            elif isinstance(name, str) and known.get(name) == index:
                edges[name].append(dependency)
            seen.add(dependency)
    for cycle in cycles(edges):
        yield Problem(
            pointer=f"{at}/{known[cycle[0]]}/dependencies",
            message=f"is a cycle: {' → '.join([*cycle, cycle[0]])}",
        )


def _unknown(name: str, pointer: str, known: list[str]) -> Problem:
    near = [other for other in known if normal_name(other) == normal_name(name)]
    what = f"is no name of this plan: write {near[0]!r}" if near else "is no name of this plan"
    return Problem(pointer=pointer, message=what, limit=tuple(known[:20]), actual=name[:80])


def cycles(graph: Graph) -> list[tuple[str, ...]]:
    """Return one cycle for each strongly connected group of names, in the graph's own order.

    It is a shortest cycle through the first name of the group that is on one.
    """
    stuck = set(graph) - set(order(graph))
    found: list[tuple[str, ...]] = []
    for name in graph:
        if name in stuck and (cycle := _cycle_through(name, graph, stuck)):
            found.append(cycle)
            stuck -= _knot(name, graph, stuck)
    return found


def _cycle_through(name: str, graph: Graph, among: set[str]) -> tuple[str, ...] | None:
    paths: list[tuple[str, ...]] = [(name,)]
    seen: set[str] = set()
    for path in paths:
        for following in graph[path[-1]]:
            if following == name:
                return path
            if following in among and following not in seen:
                seen.add(following)
                paths.append((*path, following))
    return None


def _knot(name: str, graph: Graph, among: set[str]) -> set[str]:
    """Return the names that ``name`` leads to and that lead back to it."""
    inner = {one: [d for d in graph[one] if d in among] for one in graph if one in among}
    return closure([name], inner) & dependants([name], inner)


def order(graph: Graph) -> tuple[str, ...]:
    """Return the names, each after all its dependencies; ties keep the graph's own order.

    Names on a cycle, or that depend on one, are left out.
    """
    done: dict[str, None] = {}
    left = list(graph)
    while ready := [n for n in left if all(d in done or d not in graph for d in graph[n])]:
        done.update(dict.fromkeys(ready))
        left = [name for name in left if name not in done]
    return tuple(done)


def closure(names: Iterable[str], graph: Graph) -> set[str]:
    """Return the names and everything they depend on, directly or indirectly."""
    found, left = set(), list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += graph.get(name, ())
    return found


def dependants(names: Iterable[str], graph: Graph) -> set[str]:
    """Return the names and everything that depends on them, directly or indirectly."""
    back: dict[str, list[str]] = {}
    for name, dependencies in graph.items():
        for dependency in dependencies:
            back.setdefault(dependency, []).append(name)
    return closure(names, back)
