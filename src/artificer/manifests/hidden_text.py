"""Characters in the texts of a manifest that a model reads and a person does not see."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import category, name

from artificer.manifests.toml_lines import key_lines, line_of
from artificer.manifests.toml_text import leaves, read_toml

_JOINERS = frozenset("\u200c\u200d")
"""Characters of format that words of some languages and some emoji need."""


def hidden_characters(text: str, file: str) -> Iterator[str]:
    """Yield a warning, ``file:line: key: what is there``, for each text with a hidden character.

    Those that change the reading direction, or have no width, are named in every text; control
    characters only in descriptions, because a delimiter or a prompt may be one.

    Raises ValueError if the file is not TOML.
    """
    lines = key_lines(text)
    for path, found in leaves(read_toml(text)):
        if not isinstance(found, str):
            continue
        hidden = {c: None for c in found if _is_hidden(c, described=path[-1:] == ("description",))}
        if hidden:
            named = ", ".join(map(_named, hidden))
            yield (
                f"{file}:{line_of(lines, path)}: {'.'.join(path)}: contains {named}: people do "
                "not see it, but the model reads it"
            )


def _is_hidden(character: str, *, described: bool) -> bool:
    kind = category(character)
    if kind == "Cc":
        return described and character not in "\n\r\t"
    return kind == "Cf" and character not in _JOINERS


def _named(character: str) -> str:
    known = name(character, "a control character")
    return f"U+{ord(character):04X} ({known})"
