"""The ids of a run's calls: unique, however many there are, at a cost that hardly grows."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.core.call_ids import CallIds, with_ids, with_unique_ids
from artificer.values.blocks import ToolUseBlock

IDS = st.sampled_from(["", "a", "b", "c", "call_1_0", "call_1_1", "call_1_1_", "ä", "x" * 65])


def calls(*ids: str) -> tuple[ToolUseBlock, ...]:
    return tuple(ToolUseBlock(id=i, name="t", arguments="{}") for i in ids)


@pytest.mark.req("call-ids-unique")
class TestIds:
    @given(st.lists(st.lists(IDS, max_size=4), max_size=12))
    def test_no_two_calls_of_a_run_have_one_id(self, turns: list[list[str]]) -> None:
        used: CallIds = ()
        given_out: list[str] = []
        for ids in turns:
            blocks = with_unique_ids(calls(*ids), used, 1)
            named = [block.id for block in blocks if isinstance(block, ToolUseBlock)]
            kept = [n == i for n, i in zip(named, ids, strict=True)]
            usable = [i in ("a", "b", "c") and i not in given_out for i in ids]
            first = [ids.index(i) == at for at, i in enumerate(ids)]
            assert all(k for k, u, f in zip(kept, usable, first, strict=True) if u and f)
            given_out += named
            used = with_ids(used, named)
        assert len(set(given_out)) == len(given_out)
        assert set().union(*used) == set(given_out)

    def test_adding_copies_few_of_those_that_are_there(self) -> None:
        used: CallIds = ()
        copied = 0
        for number in range(1024):
            before = {id(ids) for ids in used}
            used = with_ids(used, [f"call_{number}"])
            copied += sum(len(ids) for ids in used if id(ids) not in before)
            assert all(len(a) > len(b) for a, b in itertools.pairwise(used))
        assert copied <= 1024 * 11 and len(used) <= 11
