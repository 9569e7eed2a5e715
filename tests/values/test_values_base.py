"""What a value does in place of pydantic: copies, comparisons and assembly that cost less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from artificer.values.blocks import Message, TextBlock, user
from artificer.values.model import Usage

USAGES = st.builds(Usage, input_tokens=st.integers(0, 2), output_tokens=st.integers(0, 2))
CHANGES = st.dictionaries(
    st.sampled_from(["input_tokens", "cached_tokens"]), st.integers(0, 2), max_size=2
)


@pytest.mark.req("value-as-pydantic")
class TestValues:
    @given(USAGES, CHANGES)
    def test_a_copy_is_pydantics_own(self, usage: Usage, changes: dict[str, int]) -> None:
        before = usage.model_dump()
        ours, theirs = usage.model_copy(update=changes), BaseModel.model_copy(usage, update=changes)
        assert ours.__dict__ == theirs.__dict__ and list(ours.__dict__) == list(theirs.__dict__)
        assert ours.model_fields_set == theirs.model_fields_set
        assert ours.model_dump(exclude_unset=True) == theirs.model_dump(exclude_unset=True)
        assert (ours.model_extra, repr(ours)) == (theirs.model_extra, repr(theirs))
        assert usage.model_dump() == before

    @given(USAGES, USAGES)
    def test_equality_is_pydantics_own(self, a: Usage, b: Usage) -> None:
        assert (a == b) is BaseModel.__eq__(a, b)
        assert (a != b) is not (a == b)
        assert a != b or hash(a) == hash(b)
        assert len({a, a.model_copy()}) == 1

    def test_another_kind_of_value_is_never_equal(self) -> None:
        class Other(Usage):
            pass

        assert Usage() != Other() and Usage() != 0 and Usage().__eq__({}) is NotImplemented

    def test_what_is_assembled_of_valid_fields_is_the_value(self) -> None:
        said = user("Hi.")
        made = Message.of_valid(role="user", blocks=(TextBlock(text="Hi."),))
        assert made == said and hash(made) == hash(said)
        assert made.identity() == said.identity() and made.canonical() == said.canonical()
        assert made.model_copy(update={"role": "assistant"}).role == "assistant"
