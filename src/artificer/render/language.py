"""The language of a report, and the page's own words in it.

The language is guessed from the report's words: by their script, and in the Latin script by the
small words that every sentence has. The guess needs no library and is the same everywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from types import MappingProxyType

import rtoml
from msgspec import Struct

from artificer import render
from artificer.render.numbers import ENGLISH, FORMS, NumberForm
from artificer.system.files import packaged

_SCRIPTS = (
    ("ar", "؀-ۿݐ-ݿ"),
    ("he", "֐-׿"),
    ("ja", "぀-ヿ"),
    ("ko", "가-힯"),
    ("zh", "一-鿿㐀-䶿"),
    ("ru", "Ѐ-ӿ"),
    ("el", "Ͱ-Ͽ"),
    ("hi", "ऀ-ॿ"),
    ("th", "฀-๿"),
)
"""The language that a script most often stands for. Kana decide for Japanese, which has Han too."""

_COMMON = {
    "en": "the of and to in is that for was are with this it on as by from which not",
    "de": "der die das und ist nicht mit von den ein eine zu im auf für dem des sich auch wird",
    "fr": "le la les des et est une dans que pour qui sur pas du au avec par ce sont plus",
    "es": "el los las de que y en una por con para del se su al es como más pero fue",
    "it": "il lo gli che di una per con del della sono non è nel alla più anche dei",
    "pt": "o os as de que e em uma para com não do da por mais dos no na ao é",
    "nl": "de het een en van is dat op te niet met zijn voor aan er door ook bij",
}
_WORD = re.compile(r"[^\W\d_]+")
_READ = 20_000
"""Characters that are read."""

_RIGHT_TO_LEFT = frozenset(("ar", "he"))


class Language(Struct, frozen=True):
    """A language: its tag, the direction in which it runs, and the page's words.

    ``spoken`` is the tag of those words: English where the catalogue does not have the language.
    ``numbers`` says how the language writes numbers, even where the page's words are English.
    """

    tag: str
    direction: str
    spoken: str
    words: MappingProxyType[str, str]
    numbers: NumberForm

    def say(self, word: str, *values: object) -> str:
        """Return one of the page's sentences with its values in it."""
        return self.words[word].format(*values)

    def count(self, word: str, number: int) -> str:
        """Return a number of things in words: "1 row", "2 rows"."""
        return self.say(f"{word}_1" if number == 1 else word, self.numbers.figure(number))


def language(tag: str) -> Language:
    """Return a language by its tag. The page speaks English where it does not know it."""
    spoken = tag if tag in _catalogue() else "en"
    direction = "rtl" if tag in _RIGHT_TO_LEFT else "ltr"
    words = MappingProxyType(_catalogue()[spoken])
    return Language(tag, direction, spoken, words, FORMS.get(tag, ENGLISH))


def language_of(text: str) -> Language:
    """Return the language of a text; English where it is not clear."""
    return language(_tag(text[:_READ]))


def _tag(text: str) -> str:
    written = sum(map(str.isalpha, text))
    for tag, characters in _SCRIPTS:
        found = len(re.findall(f"[{characters}]", text))
        if found * (8 if tag == "ja" else 3) > written > 0:
            return tag
    words = Counter(word.casefold() for word in _WORD.findall(text))
    scores = {tag: sum(words[w] for w in set(c.split())) for tag, c in _COMMON.items()}
    best = max(scores, key=lambda tag: scores[tag])
    return best if scores[best] > scores["en"] and scores[best] >= 3 else "en"


@cache
def _catalogue() -> dict[str, dict[str, str]]:
    catalogue: dict[str, dict[str, str]] = rtoml.loads(packaged(render, "words.toml"))
    return catalogue
