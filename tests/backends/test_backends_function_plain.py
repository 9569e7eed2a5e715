"""Plain types of a function's arguments, read without pydantic: as pydantic reads them."""

from __future__ import annotations

import json
import string
from typing import Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.function import plain
from artificer.backends.function.argument import REQUIRED, FunctionArgument, InvalidArgumentsError
from artificer.backends.function.results import text_of
from artificer.backends.function.typed import TypedArguments
from artificer.errors import CanonicalError, ToolDefinitionError
from artificer.values.canon import canonical

TYPES = st.recursive(
    st.sampled_from([str, int, float, bool])
    | st.lists(st.sampled_from(["a", "b", "ä", "1", ""]), min_size=1, max_size=3).map(
        lambda options: Literal[tuple(options)]
    ),
    lambda inner: (
        inner.map(lambda kind: list[kind])
        | inner.map(lambda kind: dict[str, kind])
        | inner.map(lambda kind: Optional[kind])  # noqa: UP045 - of a variable
        | inner.map(lambda kind: kind | None)
    ),
    max_leaves=4,
)
OTHER_TYPES = st.sampled_from(
    [
        *(Any, None, bytes, tuple[int, ...], set[str], dict[int, str], list, dict, int | str),
        *(Literal[1, 2], Literal["a", None], list[int | str | None], complex, object),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["a", "b", "ä", "1", "", 0, 1, 1.0, -0.0, 1e300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=4,
)  # fmt: skip
DEFAULTS = st.just(REQUIRED) | VALUES
NAMES = st.text(string.ascii_letters, min_size=1, max_size=3) | st.sampled_from(
    ["title", "default", "model_config", "schema", "description", "ä", "_x"]
)
DOCUMENTED = st.sampled_from([None, "how large", "Ä {x}"])


def arguments_of(kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[list[FunctionArgument]]:
    one = st.builds(FunctionArgument, NAMES, kinds, DEFAULTS, DOCUMENTED)
    return st.lists(one, max_size=3, unique_by=lambda argument: argument.name)


def function() -> None:
    """Stand for the function whose arguments are made up."""


def typed_of(arguments: list[FunctionArgument]) -> TypedArguments | None:
    try:
        return TypedArguments(function, arguments)
    except (ToolDefinitionError, CanonicalError):
        return None


@pytest.mark.req("function-plain")
@given(arguments_of(TYPES | OTHER_TYPES))
def test_the_schema_of_plain_arguments_is_that_of_pydantic(
    arguments: list[FunctionArgument],
) -> None:
    schema, typed = plain.schema_of(arguments), typed_of(arguments)
    if schema is not None:
        assert typed is not None
        assert json.dumps(schema) == json.dumps(typed.schema)


@pytest.mark.req("function-plain")
@given(st.data())
def test_plain_values_are_those_of_pydantic(data: st.DataObject) -> None:
    arguments = data.draw(arguments_of(TYPES))
    typed = typed_of(arguments)
    names = st.sampled_from([argument.name for argument in arguments] or ["a"]) | st.just("other")
    written = canonical(data.draw(st.dictionaries(names, VALUES)))
    values = plain.values_of(arguments, written)
    if plain.schema_of(arguments) is None or typed is None:
        return
    if values is not None:
        assert repr(sorted(values.items())) == repr(sorted(typed.values(written).items()))
        return
    with pytest.raises(InvalidArgumentsError):  # nothing that fits is left to pydantic
        typed.values(written)


@pytest.mark.req("function-plain")
@given(VALUES | st.sampled_from([float("nan"), 2**70, (1,), {1: 2}, [{"a": (None,)}]]))
def test_a_plain_result_is_written_as_by_pydantic(result: Any) -> None:
    from pydantic_core import to_jsonable_python

    assert text_of(result) == text_of(to_jsonable_python(result))
