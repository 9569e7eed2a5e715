"""The types and defaults of values' fields, as msgspec reads them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from msgspec import NODEFAULT, Struct, structs

import artificer.config
import artificer.core.transitions
import artificer.storage.notes  # noqa: F401 - with these modules, nearly all values are imported
from artificer.values.base import CheckedValue, Value, field
from artificer.values.declared import MadeDefault, defaults_of, types_of

pytestmark = pytest.mark.req("value-field-types")


def subclasses(kind: type[Struct]) -> Iterator[type[Struct]]:
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


KINDS = sorted({*subclasses(Value)}, key=lambda kind: (kind.__module__, kind.__qualname__))


class Own(CheckedValue):
    plain: int
    parts: list[str] = field(default_factory=list)


class Narrower(Own):
    plain: bool = True


@pytest.mark.parametrize("kind", [*KINDS, Own, Narrower], ids=lambda kind: kind.__qualname__)
def test_they_are_what_msgspec_reads(kind: type[Struct]) -> None:
    found = structs.fields(kind)
    assert types_of(kind) == {one.name: one.type for one in found}
    assert [*types_of(kind)] == [*defaults_of(kind)] == [one.name for one in found]
    for one, default in zip(found, defaults_of(kind).values(), strict=True):
        if isinstance(default, MadeDefault):
            assert default.factory is one.default_factory
        else:
            assert default is one.default


def test_a_class_of_a_module_that_is_not_registered_has_them() -> None:
    scope = {"__name__": "nowhere", "Value": Value}
    exec("class Loose(Value):\n    count: int = 1\n    name: str", scope)
    loose = scope["Loose"]
    assert isinstance(loose, msgspec.StructMeta)
    assert types_of(loose) == {"count": int, "name": str}
    assert defaults_of(loose) == {"count": 1, "name": NODEFAULT}
