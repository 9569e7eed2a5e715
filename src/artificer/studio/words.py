"""Times, numbers and states as people read them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal
from unicodedata import category

from markupsafe import Markup, escape

from artificer.system.utc import utc_moment, utc_timestamp
from artificer.values.unseen import UNSEEN, numbered

_STATUS = {
    "open": "running",
    "queued": "waits for a worker",
    "waiting": "waits for you",
    "completed": "done",
    "partial": "incomplete",
}

_KIND = {"deliver": "report", "chat": "answer"}

_JOBS = {
    "queued": "waits for a worker",
    "leased": "with a worker",
    "parked": "parked",
    "done": "done",
    "dead": "dead letter",
}

MAX_MARKS = 4
"""Marks above and below one letter; no language needs more."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def status_word(status: str) -> str:
    """The state of a run, in a word or three."""
    return _STATUS.get(status, status)


def job_word(state: str) -> str:
    """The state of a job, in a word or three."""
    return _JOBS.get(state, state)


def kind_word(kind: str) -> str:
    """The word for what a run of some kind makes."""
    return _KIND.get(kind, kind)


def coded(text: str) -> Markup:
    """A text made visible, in which names between backticks are code."""
    pieces = [escape(visible(piece)) for piece in text.split("`")]
    if len(pieces) % 2 == 0:  # one of them has no other
        return Markup("`").join(pieces)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(one) if n % 2 else one for n, one in enumerate(pieces))


def first_upper(text: str) -> str:
    """A text that begins a sentence."""
    return text[:1].upper() + text[1:]


def clock(at: int) -> str:
    """A moment (milliseconds since 1970) as ISO 8601, in UTC."""
    return utc_timestamp(at)


def stamp(at: int) -> str:
    """A moment (milliseconds since 1970) as people write it, in UTC."""
    return f"{day(at)}, {time_of_day(at)} UTC"


def day(at: int) -> str:
    """The day of a moment, in UTC."""
    moment = utc_moment(at)
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def time_of_day(at: int) -> str:
    """The time of a moment in its day, in UTC."""
    return f"{utc_moment(at):%H:%M:%S}"


def ago(at: int, now: float | None = None) -> str:
    """How long a moment (milliseconds since 1970) is ago, in its largest unit."""
    seconds = max(0.0, (time.time() if now is None else now) - at / 1000)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"


def thousands(number: int) -> str:
    """A whole number in groups of three digits."""
    return f"{number:,}".replace(",", "\u202f")


def count(number: int, noun: str) -> str:
    """A number of things: ``1 turn``, ``2 turns``."""
    return f"{thousands(number)} {noun}{'' if number == 1 else 's'}"


def dollars(micros: int) -> str:
    """An amount of millionths of a dollar."""
    return money(Decimal(micros) / 1_000_000)


def money(dollars: Decimal | None) -> str:
    """An amount of dollars; nothing if the price is unknown."""
    return "" if dollars is None else f"${dollars:.4f}"


def exact(text: str) -> Markup:
    """A text as it is, with its invisible characters: for fields that are sent back."""
    return escape(text)


def shown(value: object) -> object:
    """Return a value as a template prints it: a text, unless it is markup, is made visible."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def visible(text: str) -> str:
    """A text whose invisible characters are shown by their numbers.

    Those that change the direction of a line could make a call look like another one, and so could
    many marks on one letter, which cover the lines above and below.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_unstacked(UNSEEN.sub(lambda found: numbered(found[0]), text)))


def _unstacked(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        if character not in "\u200c\u200d":  # the marks after it are on the same letter
            marks = marks + 1 if category(character) in ("Mn", "Me") else 0
        yield character if marks <= MAX_MARKS else numbered(character)


WORDS = (
    ago,
    clock,
    coded,
    count,
    day,
    dollars,
    exact,
    first_upper,
    job_word,
    kind_word,
    money,
    stamp,
    status_word,
    thousands,
    time_of_day,
    visible,
)
"""The filters of templates for times, numbers and texts, by their names."""
