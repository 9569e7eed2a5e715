"""Conformance tests for sources of secrets, to run with your own.

Subclass `SecretSourceSuite` in a test module and give it two pytest fixtures: ``source``, and
``held``, the secrets that it has, by their names. One of them has several lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from artificer.errors import OperatorError
from artificer.ports import SecretSource

ABSENT = "a_secret_that_nobody_has"

AWKWARD = ("", ".", "..", "../up", "a/b", "/etc/hostname", "a b", "a\nb", "*", "%2e%2e", "é" * 200)
"""Names that no reference can have."""


class SecretSourceSuite:
    """The behavior of the `SecretSource` port."""

    def test_a_secret_is_resolved_as_it_is(
        self, source: SecretSource, held: Mapping[str, str]
    ) -> None:
        """The value is returned unchanged, and again for the next request."""
        assert any("\n" in value for value in held.values()), "one of several lines"
        for _ in range(2):
            assert {name: source.resolve(name) for name in held} == dict(held)

    def test_what_is_not_there_is_none(self, source: SecretSource) -> None:
        """It is None, not an error or an empty text, so that the next source is asked."""
        assert source.resolve(ABSENT) is None

    def test_a_name_leads_nowhere_else(self, source: SecretSource, held: Mapping[str, str]) -> None:
        """A path is not a name."""
        for name in AWKWARD:
            with suppress(OperatorError):
                assert source.resolve(name) is None
        for name in held:
            for path in (f"./{name}", f"x/../{name}", f"{name}/"):
                with suppress(OperatorError):
                    assert source.resolve(path) is None

    def test_its_place_is_named_without_the_value(
        self, source: SecretSource, held: Mapping[str, str]
    ) -> None:
        """The place says where to look, before and after the value was read."""
        for name in (*held, ABSENT):
            place = source.place(name)
            assert name.lower() in place.lower()
            assert place.isprintable()
            assert not any(value in place for value in held.values())

    def test_what_it_lists_is_what_it_resolves(
        self, source: SecretSource, held: Mapping[str, str]
    ) -> None:
        """It may list nothing, or additional values to redact."""
        listed = source.at_hand()
        assert all(isinstance(value, str) and value for value in listed.values())
        assert all(listed[name] == value for name, value in held.items() if name in listed)

    def test_it_shows_no_value(self, source: SecretSource, held: Mapping[str, str]) -> None:
        """Its repr contains no value, because errors and logs may show the object."""
        for name in held:
            source.resolve(name)
        shown = f"{source!r} {source}"
        assert not any(value in shown for value in held.values())

    def test_several_threads_ask_at_once(
        self, source: SecretSource, held: Mapping[str, str]
    ) -> None:
        """Each gets its own answer."""
        names = [*held, ABSENT] * 10
        with ThreadPoolExecutor(8) as threads:
            found = [*threads.map(source.resolve, names)]
        assert found == [held.get(name) for name in names]
