"""Secrets of tools: looked up when a request is sent, and redacted in everything that is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote

from msgspec import Struct

from artificer.backends.secrets.forms import bytes_of, forms_of
from artificer.contracts.schema import Schema
from artificer.contracts.secret_marks import mark_of
from artificer.contracts.secret_references import PREFIXES
from artificer.errors import OperatorError, ToolDefinitionError, UnstoredError
from artificer.ports import BlobStore
from artificer.values.base import JsonValue

MIN_HIDDEN = 4
"""Characters of the shortest value that is hidden wherever it stands: a shorter one would be found
in any text."""


def all_secrets(environment: Mapping[str, str], also: Iterable[str]) -> dict[str, str]:
    """Every secret of the environment, by its variable, and the variables that are named."""
    names = {name for name in environment if name.startswith(PREFIXES)} | set(also)
    found = {name: environment.get(name, "") for name in sorted(names)}
    return {name: value for name, value in found.items() if len(value) >= MIN_HIDDEN}


KEPT_VALUES = 4
"""The most values of one name that are known: a secret is replaced by a new one now and then."""

MAX_MIXED = 4_096
"""Characters of the longest value that is found in any mix of encodings. Of a longer one are found
the forms of the whole, and its long words.
"""

SOUGHT = 32
"""Characters of each form that a text is searched for at first."""

_PLAIN = re.compile(r"[A-Za-z0-9._~-]+")
"""Characters that no text encoding changes."""

_LONG_WORD = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
"""A word that is not a part of a language: the line of a key."""


def _words_of(value: str) -> Iterable[str]:
    """Return the long words of a value of several lines: a text may hold some lines, or indent
    them.
    """
    return _LONG_WORD.findall(value) if "\n" in value or len(value) > MAX_MIXED else ()


_GROUP = re.compile(r"(\\*)([^\\]?)", re.DOTALL)

_BACKSLASH = r"(?:\\|%(?:25)*5[cC]|&(?:amp;)*#92;)"

_ESCAPES = 8
"""The most backslashes that stand for one, or before what is escaped."""


def _pattern(value: str) -> str:
    """A pattern of a value as texts hold it: as it is, percent-encoded and escaped, in any mix.

    There is one way to match a text, or some texts would take longer than anybody waits.
    """
    return "".join(
        _after_backslashes(len(backslashes), character) if backslashes else _forms_of(character)
        for backslashes, character in _GROUP.findall(value)
    )


def _after_backslashes(count: int, character: str) -> str:
    """The forms of backslashes and the character behind them, which may have some of its own.

    How many they are in a text is not compared: fewer are taken for as many.
    """
    some = rf"(?:{_BACKSLASH}{{1,{_ESCAPES * (count + 1)}}}+(?:u(?i:005c))?+)"
    if not character or _PLAIN.match(character):
        return f"{some}{{1,{count}}}+{re.escape(character)}"
    forms = [*_bare_forms(character), _unicode(character), *_SHORT.get(character, "")]
    return f"{some}{{1,{count + 1}}}+(?:{'|'.join(forms)})"


def _forms_of(character: str) -> str:
    """The forms of a character, encoded twice too: what is escaped may be escaped again."""
    if not character or _PLAIN.match(character):
        return re.escape(character)
    bare = "|".join(_bare_forms(character))
    forms = [bare, rf"{_BACKSLASH}{{1,{_ESCAPES}}}{_unicode(character)}"]
    if character in _SHORT:
        forms[0] = rf"{_BACKSLASH}{{0,{_ESCAPES}}}(?:{bare})"
        if _SHORT[character] != character:
            forms.append(rf"{_BACKSLASH}{{1,{_ESCAPES}}}{_SHORT[character]}")
    return f"(?:{'|'.join(forms)})"


def _bare_forms(character: str) -> list[str]:
    """The forms of a character that begin with no backslash."""
    code = ord(character)
    percent = "".join(f"%(?:25)*(?i:{b:02x})" for b in bytes_of(character))
    named = "|".join([f"#{code}", f"#x(?i:0*{code:x})", *_NAMED.get(character, [])])
    plus = [r"\+"] if character == " " else []
    return [re.escape(character), percent, f"&(?:amp;)*(?:{named});", *plus]


def _unicode(character: str) -> str:
    """The form of a character as JSON escapes it, without the first backslash."""
    units = character.encode("utf-16-be", "replace").hex()
    codes = [f"u(?i:{units[i : i + 4]})" for i in range(0, len(units), 4)]
    return rf"{_BACKSLASH}{{1,{_ESCAPES}}}".join(codes)


_SHORT = {'"': '"', "/": "/", "\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
"""Characters that a backslash escapes, and what stands behind it then."""

_NAMED = {"&": ["amp"], "<": ["lt"], ">": ["gt"], '"': ["quot"], "'": ["apos"]}


_SIGNS = re.compile(r"[!-/:;=?@\[-^`{-~]")
"""Characters that a pattern must escape. Not ``<`` and ``>``: escaped, they bound a word."""


@lru_cache(maxsize=32)
def _any_of(texts: tuple[str, ...]) -> Schema | None:
    """Return a schema that finds any of these in linear time; None if they are too many."""
    pattern = "|".join(_SIGNS.sub(r"\\\g<0>", text) for text in texts)
    try:
        return Schema({"type": "string", "pattern": pattern})
    except (ToolDefinitionError, UnicodeEncodeError):
        return None


class _Mixed(Struct, frozen=True):
    """A value that encodings touch; ``core`` is a part that none does, and that all forms have."""

    core: str
    pattern: re.Pattern[str]
    mark: str


class Redactor:
    """Takes secrets out of texts, in each form in which a request may have carried them."""

    def __init__(
        self, secrets: Mapping[str, str], hides: Callable[[str, str], bool] | None = None
    ) -> None:
        """``hides`` says of a name and its value whether it is one to take out (default: yes)."""
        self._hides = hides or (lambda _, value: bool(value))
        self._names: dict[str, str] = {}
        self._prepare({n: v for n, v in secrets.items() if self._hides(n, v)})

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Take these out from now on too: a value that is known already keeps its name.

        Of the values that a secret had one after another, the last ones are known.
        """
        new = {
            name: value
            for name, value in secrets.items()
            if value not in self._names and self._hides(name, value)
        }
        if new:
            self._prepare(new)

    def _prepare(self, secrets: Mapping[str, str]) -> None:
        names = dict(self._names)
        for name, value in secrets.items():
            former = [held for held, of in names.items() if of == name]
            for old in former[: max(0, len(former) + 1 - KEPT_VALUES)]:
                del names[old]
            names[value] = name
        forms: dict[str, str] = {}
        mixed: list[_Mixed] = []
        # The longest first: one secret may be the beginning of another.
        for value, name in sorted(names.items(), key=lambda item: -len(item[0])):
            mark = mark_of(name)
            forms |= dict.fromkeys(forms_of(value), mark)
            forms |= dict.fromkeys(_words_of(value), mark)
            if not _PLAIN.fullmatch(value) and len(value) <= MAX_MIXED:
                core = max(_PLAIN.findall(value), key=len, default="")
                mixed.append(_Mixed(core, re.compile(_pattern(value)), mark))
        percent = (len(quote(bytes_of(value), safe="")) for value in names)
        self.longest = max([*percent, *map(len, forms)], default=0)
        """Characters of the longest form: as many may be missing at a cut."""
        # Another thread may be cleaning a text: each of these is replaced as a whole.
        self._mixed, self._names = mixed, names
        self._forms = sorted(forms.items(), key=lambda item: -len(item[0]))

    def _may_hold(self, text: str) -> bool:
        """Whether a text may hold a secret at all, found in one pass: nearly none does."""
        try:
            text if text.isascii() else text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair: bytes that are not text
            return True
        found = (*(form for form, _ in self._forms), *(mixed.core for mixed in self._mixed))
        sought = tuple(dict.fromkeys(text[:SOUGHT] for text in found))
        engine = _any_of(sought)
        return engine is None or engine.accepts(text)

    def clean(self, text: str) -> str:
        """Return a text without the secrets."""
        if not self._forms or not self._may_hold(text):
            return text
        for form, mark in self._forms:
            text = text.replace(form, mark)
        for mixed in self._mixed:
            if mixed.core in text:
                text = mixed.pattern.sub(mixed.mark.replace("\\", r"\\"), text)
        return text

    def clean_bytes(self, data: bytes) -> bytes:
        """Return bytes without the secrets, whatever else they hold."""
        text = data.decode("utf-8", "surrogateescape")
        cleaned = self.clean(text)
        return data if cleaned == text else cleaned.encode("utf-8", "surrogateescape")

    def clean_pieces(self, pieces: Iterable[bytes], *, whole: bool) -> Iterator[bytes]:
        """Yield pieces without the secrets, also one that begins in a piece and ends in another.

        Without ``whole`` something is missing behind the last piece: its end is left out, where the
        beginning of a secret may stand.
        """
        ready = held = b""
        for piece in pieces:
            if ready:
                yield ready
            data = self.clean_bytes(held + piece)
            end = max(0, len(data) - self.longest)
            ready, held = data[:end], data[end:]
        if last := ready + held if whole else ready:
            yield last

    def clean_value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with every name and text cleaned; the result is JSON too."""
        match value:
            case str():
                return self.clean(value)
            case list():
                return [self.clean_value(item) for item in value]
            case dict():
                return {self.clean(k): self.clean_value(item) for k, item in value.items()}
            case _:
                text = json.dumps(value)
                cleaned = self.clean(text)
                return value if cleaned == text else cleaned


class CleanBlobs:
    """A store for what tools bring: bytes are kept without secrets, under their own digest."""

    def __init__(self, blobs: BlobStore, redactor: Redactor) -> None:
        self._blobs = blobs
        self._redactor = redactor

    def put(self, data: bytes) -> str:
        """Store the bytes without secrets and return the digest of what was stored.

        Raises UnstoredError, which no executor makes a result of: that would be a failed call.
        """
        return self._put(self._redactor.clean_bytes(data))

    def put_pieces(self, pieces: Iterable[bytes], *, whole: bool) -> tuple[str, ...]:
        """Store the pieces of one text without the secrets in all of it, as :meth:`put` does.

        ``whole`` says whether nothing is missing behind the last one.
        """
        cleaned = self._redactor.clean_pieces(pieces, whole=whole)
        if isinstance(self._blobs, CleanBlobs):
            return self._blobs.put_pieces(cleaned, whole=whole)
        return tuple(map(self._put, cleaned))

    def get(self, digest: str) -> bytes:
        """The bytes that were stored."""
        return self._blobs.get(digest)

    def has(self, digest: str) -> bool:
        """Whether they are there."""
        return self._blobs.has(digest)

    def digests(self) -> Iterable[str]:
        """Every stored digest."""
        return self._blobs.digests()

    def _put(self, data: bytes) -> str:
        try:
            return self._blobs.put(data)
        except OperatorError as error:
            raise UnstoredError(error.message, hint=error.hint) from error
