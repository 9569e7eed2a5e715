"""The algebra of dependencies: order, closure, dependants and cycles of any graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts.dependencies import closure, cycles, dependants, order

pytestmark = pytest.mark.req("plan-dependencies")

graphs = st.integers(1, 8).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            f"n{i}": st.lists(st.sampled_from([f"n{j}" for j in range(n)]), max_size=3)
            for i in range(n)
        }
    )
)


@given(graphs)
def test_an_order_puts_everything_after_what_it_depends_on(graph: dict[str, list[str]]) -> None:
    done: set[str] = set()
    for name in order(graph):
        assert set(graph[name]) <= done
        done.add(name)
    left = set(graph) - done
    assert all(set(graph[name]) & left for name in left)  # nothing was left out without reason


@given(graphs)
def test_there_are_cycles_exactly_when_there_is_no_order(graph: dict[str, list[str]]) -> None:
    found = cycles(graph)
    assert bool(found) == (len(order(graph)) < len(graph))
    for cycle in found:
        assert len(set(cycle)) == len(cycle)
        assert all(b in graph[a] for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    named = [name for cycle in found for name in cycle]
    assert len(set(named)) == len(named)


@given(graphs, st.data())
def test_dependants_are_the_closure_turned_round(
    graph: dict[str, list[str]], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(graph)))
    assert dependants([name], graph) == {one for one in graph if name in closure([one], graph)}


def test_a_long_chain_is_no_deep_recursion() -> None:
    chain = {f"n{i}": [f"n{i + 1}"] for i in range(5_000)} | {"n5000": ["n0"]}
    assert len(cycles(chain)[0]) == 5_001
