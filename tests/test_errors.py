"""Errors as a program meets them that does not catch them."""

from __future__ import annotations

import pickle
import traceback

import pytest

from artificer import tool
from artificer.errors import ArtificerError, ConfigError, MissingExtraError


def printed(error: BaseException) -> list[str]:
    """The lines that Python prints for an error."""
    return "".join(traceback.format_exception_only(error)).splitlines()


@pytest.mark.req("error-hint-shown")
class TestHints:
    def test_a_traceback_ends_with_the_hint(self) -> None:
        with pytest.raises(ArtificerError) as caught:

            @tool
            def look_up(key) -> str:  # type: ignore[no-untyped-def]
                """Look up."""
                return str(key)

        assert printed(caught.value)[-1] == caught.value.hint == "Write for example 'key: str'."

    def test_only_the_last_hint_is_shown_and_other_notes_stay(self) -> None:
        error = ConfigError("It is wrong.")
        assert printed(error) == ["artificer.errors.ConfigError: It is wrong."]
        error.hint = "Write this."
        error.add_note("In task 7.")
        error.hint = "Write that."
        assert printed(error)[1:] == ["Write that.", "In task 7."]
        error.hint = None
        assert printed(error)[1:] == ["In task 7."]
        assert str(error) == "It is wrong."

    def test_a_pickled_error_keeps_its_hint(self) -> None:
        error = pickle.loads(pickle.dumps(ConfigError("It is wrong.", hint="Write this.")))
        assert (error.message, error.hint, printed(error)[1:]) == (
            "It is wrong.",
            "Write this.",
            ["Write this."],
        )
        assert MissingExtraError("otel", needed_for="It").hint == "pip install 'artificer[otel]'"
