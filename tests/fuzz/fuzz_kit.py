"""Hostile input that is made of valid input: every step changes a little of what a parser knows.

Random text alone dies at a parser's first line. So each example is one of a corpus, changed by a
list of small steps; Hypothesis shortens the list when an example fails.

``ARTIFICER_FUZZ=50`` makes fifty times as many examples; ``-k`` names the targets.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from artificer.errors import ArtificerError, BugError

FACTOR = float(os.environ.get("ARTIFICER_FUZZ", "1"))
PATIENCE_S = 60
"""Seconds after which an example counts as endless; a busy machine is far from it."""

T = TypeVar("T", str, bytes)
Step = tuple[int, int, int]
STEPS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 1 << 16), st.integers(0, 1 << 16)), max_size=6
)

NASTY = (
    *(
        "\0",
        "\n",
        "\r\n",
        "\ud800",
        "\u202e",
        "\ufeff",
        "\u2028",
        "é",
        "😀",
        "\x1b[2J",
        "\x7f",
        "\x85",
    ),
    *(
        "{",
        "}",
        "{{",
        "}}",
        "[",
        "]",
        '"',
        "'",
        '"""',
        "'''",
        "\\",
        "\\u0000",
        "\\ud800",
        "`",
        "$(id)",
    ),
    *(
        "<",
        ">",
        "<!--",
        "]]>",
        "<![CDATA[",
        "<!DOCTYPE a [<!ENTITY b 'c'>]>",
        "&b;",
        "&#0;",
        "javascript:",
    ),
    *(
        "../",
        "/",
        "//",
        "..",
        "-",
        "--",
        "=",
        ",",
        ";",
        ":",
        "#",
        "@",
        "%",
        "%00",
        "%2e%2e/",
        "*",
        "**",
        "?",
    ),
    *(
        "0",
        "-1",
        "-0",
        "1e999",
        "1e-999",
        "nan",
        "inf",
        "9" * 30,
        "9" * 5_000,
        "0x7f",
        "2130706433",
    ),
    *(
        "[" * 3_000,
        "{" * 300,
        '{"a":' * 2_000,
        "(" * 3_000,
        "a." * 300 + "b",
        "a" * 40_000,
        " " * 2_000,
    ),
    *("<g>" * 400, "not " * 3_000, "[a." * 200, "> " * 500, "*" * 3_000, "\n" * 3_000, "\t"),
    *("true", "null", "None", '{"$blob":"sha256:0"}', '{"$ref":"#"}', "__proto__", "__class__"),
)

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**53, 2**64, -(10**400), 1.5, 1e308, float("nan"), float("inf")),
    *(
        "",
        "\0",
        "\ud800",
        "a" * 40_000,
        "../x",
        "{x}",
        "{{x}}",
        "-x",
        "<svg>",
        "sha256:" + "0" * 64,
    ),
    *([], {}, [[]], [None], {"": None}, {"$blob": "sha256:0"}, {"$ref": "#"}, {"type": "object"}),
)


def corpus(*seeds: T) -> st.SearchStrategy[T]:
    """Seeds, each changed by some steps."""
    return st.builds(
        lambda seed, steps: _changed(seed, seeds, steps), st.sampled_from(seeds), STEPS
    )


def _changed(text: T, others: Sequence[T], steps: Sequence[Step]) -> T:
    for step in steps:
        text = _step(text, others, *step)
        if len(text) > 400_000:
            break
    return text


def _step(  # noqa: PLR0911  # a table
    text: T, others: Sequence[T], what: int, where: int, how: int
) -> T:
    at = where % (len(text) + 1)
    end = min(len(text), at + 1 + how % 40)
    other = others[how % len(others)]
    nasty: Any = NASTY[how % len(NASTY)]
    one: Any = chr(how % 0x500) if isinstance(text, str) else bytes([how % 256])
    if isinstance(text, bytes):
        nasty = nasty.encode("utf-8", "surrogatepass")
    begin, rest = text[:at], text[end:]
    match what:
        case 0:
            return begin + one + text[at + 1 :]
        case 1:
            return begin + rest
        case 2:
            return begin + text[at:end] * (2 + how % 5) + rest
        case 3:
            return begin + other[how % (len(other) + 1) :]
        case 4 | 5 | 6:
            return begin + nasty + text[at:]
        case 7:
            return begin + nasty + rest
        case 8:
            return begin
        case _:
            cut = how % (len(text) + 1)
            return text[cut:] + text[:cut]


def trees(*seeds: Any) -> st.SearchStrategy[Any]:
    """JSON values, each changed by some steps: parts replaced, dropped, doubled, moved, nested."""
    return st.builds(_grown, st.sampled_from([json.dumps(seed) for seed in seeds]), STEPS)


def _grown(seed: str, steps: Sequence[Step]) -> Any:
    holder: list[Any] = [json.loads(seed)]
    for what, where, how in steps:
        places = list(_places(holder))
        if not places or len(places) > 20_000:
            break
        owner, key = places[where % len(places)]
        _grow(owner, key, places, what, how)
    return holder[0] if holder else None


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [value]
    while waiting:
        here = waiting.pop()
        for key in [*here] if isinstance(here, dict) else range(len(here)):
            yield here, key
            if isinstance(here[key], dict | list):
                waiting.append(here[key])


def _grow(owner: Any, key: Any, places: list[tuple[Any, Any]], what: int, how: int) -> None:
    other, name = places[how % len(places)]
    found = json.loads(json.dumps(other[name]))
    match what:
        case 0 | 1 | 2 | 3:
            owner[key] = VALUES[how % len(VALUES)]
            owner[key] = json.loads(json.dumps(owner[key]))
        case 4:
            del owner[key]
        case 5:
            owner[key] = found
        case 6:
            for _ in range(1 + how % 120):
                owner[key] = [owner[key]] if how % 2 else {"a": owner[key]}
        case 7 if isinstance(owner, dict):
            owner[NASTY[how % len(NASTY)]] = owner.pop(key)
        case 8 if isinstance(owner[key], str):
            owner[key] = _step(owner[key], (owner[key],), how % 9, how, how * 7)
        case _ if isinstance(owner, list):
            owner[key:key] = [found] * (1 + how % 4)
        case _:
            owner[NASTY[how % len(NASTY)]] = found


def fuzz(examples: int = 60) -> Callable[[Any], Any]:
    """Settings of one target: so many examples, or ``ARTIFICER_FUZZ`` times as many."""
    return settings(
        max_examples=max(1, int(examples * FACTOR)),
        suppress_health_check=[*HealthCheck],
        print_blob=True,
        deadline=None,
    )


@contextmanager
def bounded() -> Iterator[None]:
    """Whatever is not done after a long time never will be."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"not done after {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def declared(work: Callable[..., Any], *given: Any, also: tuple[type[Exception], ...] = ()) -> Any:
    """Do the work, and return what it returns; None for an error that it may raise.

    That is one of ours, but none that is our fault, or one that it declares itself.
    """
    with bounded():
        try:
            return work(*given)
        except BugError:
            raise
        except (ArtificerError, *also):
            return None
