"""Characters that a reader cannot see, and what stands in their place."""

from __future__ import annotations

import re

_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001faff"
)
_SCRIPTS = "\u0600-\u109f\u1780-\u18af"
"""Scripts in which joiners and non-joiners are part of the spelling."""

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
    f"|(?<![{_EMOJI}])[\ufe0e\ufe0f](?!\u20e3)"
    f"|(?<![{_EMOJI}\ufe0f{_SCRIPTS}])\u200d|(?<![{_SCRIPTS}])\u200c"
)
"""Controls but for the end of a line and the tab, and characters that are not seen, or not the
same everywhere: of format, private, or without a glyph, such as U+3164 (HANGUL FILLER)."""


def numbered(character: str) -> str:
    """Return what stands where a character cannot be seen: ``⟨U+202E⟩``."""
    return f"\u27e8U+{ord(character):04X}\u27e9"
