"""One resolver: the order of sources, what is said of a missing secret, and who learns a value."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from itertools import count

import pytest

from artificer.backends.secrets.redaction import Redactor
from artificer.contracts.secret_references import PREFIXES
from artificer.errors import ConfigError, OperatorError
from artificer.providers.endpoint import Endpoint
from artificer.secrets.answers import MAX_VALUE
from artificer.secrets.environment import Variables
from artificer.secrets.kinds import secrets_of
from artificer.secrets.remembering import KEPT_S, Remembering
from artificer.secrets.resolver import Secrets, of_environment
from artificer.values.model import ModelFailure

pytestmark = pytest.mark.req("secret-sources")

VALUE = "tr-51Hq8Zr7Tn3V"


class Shelf:
    """A source that is far away: it counts who asks, and raises what it is told to."""

    def __init__(self, values: Mapping[str, object], error: Exception | None = None) -> None:
        self.values = dict(values)
        self.error = error
        self.asked: list[str] = []
        self.local = False

    def resolve(self, name: str) -> str | None:
        self.asked.append(name)
        if self.error is not None:
            raise self.error
        return self.values.get(name)  # type: ignore[return-value]  # what it has may be no text

    def place(self, name: str) -> str:
        return f"shelf/{name}"

    def at_hand(self) -> Mapping[str, str]:
        if self.error is not None:
            raise self.error
        return self.values  # type: ignore[return-value]


def test_the_first_source_that_has_it_counts() -> None:
    first, second = Shelf({"a": "one"}), Shelf({"a": "two", "b": "three"})
    secrets = Secrets((first, second))
    assert secrets.find(("a", "b")).values == {"a": "one", "b": "three"}
    missing = secrets.find(("a", "c"))
    assert missing.values == {}
    assert missing.name == "c"
    assert missing.missing == "the secret 'c' is not set; looked for: shelf/c, shelf/c"


def test_a_source_that_cannot_be_asked_ends_the_search() -> None:
    """A later one may have the value of another account."""
    broken = Shelf({}, OperatorError("the shelf is locked.", hint="Unlock it."))
    found = Secrets((broken, Shelf({"a": VALUE}))).find(("a",))
    assert found.values == {}
    assert found.missing == "the secret 'a' cannot be read: the shelf is locked"
    assert found.hint == "Unlock it."
    assert Secrets((broken,)).fault() == "the shelf is locked. Unlock it."
    assert found.unknown and not Secrets((Shelf({}),)).find(("a",)).unknown


@pytest.mark.parametrize("value", [7, "", "x\0y", "x" * (MAX_VALUE + 1), b"bytes"])
def test_what_is_no_secret_is_none(value: object) -> None:
    found = Secrets((Shelf({"a": value}),)).find(("a",))
    assert found.missing.startswith("the secret 'a' cannot be read: shelf/a ")


@pytest.mark.parametrize("local", [True, False])
def test_the_words_of_an_unknown_error_are_not_repeated(local: bool) -> None:
    broken = Shelf({}, RuntimeError(f"bad value {VALUE}"))
    broken.local = local
    secrets = Secrets((broken,))
    found = secrets.find(("a",))
    assert found.missing == "the secret 'a' cannot be read: its source failed (RuntimeError)"
    assert VALUE not in secrets.fault()
    assert secrets.at_hand() == {}


@pytest.mark.parametrize("name", ["../a", "a/b", "", "a b", "a\nb", "x" * 300])
def test_a_reference_has_a_plain_name(name: str) -> None:
    shelf = Shelf({name: VALUE})
    assert Secrets((shelf,)).find((name,)).missing.endswith("cannot be the name of a secret")
    assert shelf.asked == []


def test_what_the_environment_lacks_is_said_as_ever() -> None:
    found = of_environment({}).find(("tracker",))
    assert found.missing == "ARTIFICER_SECRET_TRACKER is not set"
    assert found.hint == "Set the environment variable ARTIFICER_SECRET_TRACKER."
    assert "is not set" in of_environment({"X": ""}).find_key("X").missing


def test_no_source_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list does not fall back to the environment."""
    monkeypatch.setenv("ARTIFICER_SECRET_TRACKER", VALUE)
    monkeypatch.setenv("ANTHROPIC_API_KEY", VALUE)
    secrets = secrets_of(())
    assert "looked for: nowhere" in secrets.find(("tracker",)).missing
    assert secrets.find_key("ANTHROPIC_API_KEY").values == {}
    assert secrets_of(("env",)).find(("tracker",)).values == {"tracker": VALUE}


def test_an_unknown_kind_is_named_and_its_setting_is_not() -> None:
    with pytest.raises(ConfigError, match=r"'volt'\. Known: env, files, vault") as caught:
        secrets_of((f"volt:https://me:{VALUE}@host",))
    assert VALUE not in caught.value.message


def test_answers_are_kept_for_a_while_and_shown_nowhere() -> None:
    shelf, clock = Shelf({"a": VALUE}), [0.0]
    kept = Remembering(shelf, lambda: clock[0])
    assert [kept.resolve("a"), kept.resolve("a"), kept.resolve("b")] == [VALUE, VALUE, None]
    assert shelf.asked == ["a", "b"]
    shelf.values["a"] = "another"
    clock[0] = KEPT_S + 1
    assert kept.resolve("a") == "another"
    assert "another" not in repr(vars(kept) | {"_source": None})
    shelf.error = OperatorError("down")
    assert kept.resolve("a") == "another"
    clock[0] += KEPT_S + 1
    for _ in range(3):  # an answer is an answer, also that there is none
        with pytest.raises(OperatorError, match="down"):
            kept.resolve("a")
    assert shelf.asked == ["a", "b", "a", "a"]


@pytest.mark.req("secret-resolved")
def test_a_value_is_learned_before_it_is_handed_out() -> None:
    secrets, redactor = Secrets((Shelf({"a": VALUE, "pin": "123"}),)), Redactor({})
    secrets.teach(redactor)
    found = secrets.find(("a",))
    assert redactor.clean(f"a {VALUE} b") == "a [secret a] b"
    assert VALUE not in repr(found) + repr(secrets)
    later = Redactor({})
    secrets.teach(later)
    assert later.clean(VALUE) == "[secret a]"


@pytest.mark.req("secret-resolved")
async def test_what_a_source_lists_is_learned_before_a_run() -> None:
    """And a short word is not, before it is used: it would be found in any text."""
    secrets, redactor = Secrets((Shelf({"a": VALUE, "user": "admin"}),)), Redactor({})
    secrets.teach(redactor)
    await secrets.prepare()
    assert redactor.clean(f"admin {VALUE}") == "admin [secret a]"


@pytest.mark.req("secret-resolved")
def test_a_value_that_is_replaced_is_taken_out_too() -> None:
    """Of the values that a secret had, the last ones are known, and no more are kept."""
    redactor, numbers = Redactor({}), count()
    values = [f"value-{next(numbers):04}-x" for _ in range(20)]
    for value in values:
        redactor.learn({"a": value})
    assert redactor.clean(" ".join(values[-3:])) == " ".join(["[secret a]"] * 3)
    assert redactor.clean(values[0]) == values[0]


async def test_a_source_that_does_not_answer_holds_up_nobody() -> None:
    """Neither other work of the loop nor the call for longer than its time."""
    answering = threading.Event()

    class Slow(Shelf):
        def resolve(self, name: str) -> str | None:
            answering.wait(60)
            return VALUE

    secrets = Secrets((Slow({}),))
    try:
        found = await secrets.found(("a",), 0.05)
        assert found.missing == "the secret 'a' was not found within 0.05 s"
        asking = asyncio.create_task(secrets.found(("a",)))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    finally:
        answering.set()


@pytest.mark.req("secret-before")
async def test_a_key_that_cannot_be_read_may_be_there_later() -> None:
    """So the run is tried again, and goes on with its fallbacks; one that is absent is final."""
    away, empty = Shelf({}, OperatorError("down")), Shelf({})
    codes = []
    for shelf in (away, empty):
        key = await Endpoint("VENDOR", secrets=Secrets((shelf,))).key()
        assert isinstance(key, ModelFailure)
        codes.append(key.code)
    assert codes == ["unavailable", "auth"]


def test_variables_of_two_prefixes() -> None:
    both = {PREFIXES[0] + "A": "one", PREFIXES[1] + "A": "two", PREFIXES[1] + "B": "three"}
    source = Variables(both, PREFIXES)
    assert (source.resolve("a"), source.resolve("b")) == ("one", "three")
    assert source.at_hand() == both
