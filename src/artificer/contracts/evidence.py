"""Parts that all envelopes share: limits of a kept output, the share that a model reads, and the
blobs that hold the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from artificer.values.base import JsonObject, JsonValue, Value
from artificer.values.canon import canonical_typed
from artificer.values.text import head_and_tail

MAX_CONTENT = 32_000
"""Characters of an outcome that a model is given."""

MAX_EVIDENCE = 16_000
"""Characters of each stream that an envelope holds."""

_KEPT = ("blob", "picture", "blobs", "output_blobs")
"""Members of an envelope that are digests of blobs, or lists of them."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Parsed(Struct, frozen=True):
    """The results in a text, or the reason why it cannot be read (``fault``).

    ``data`` are the results as JSON text whose numbers are as the text has them.
    """

    results: JsonValue = None
    fault: str | None = None
    data: str | None = None


class Stream(Value):
    """The output of one stream: ``text`` is its head and tail, ``size`` all its bytes."""

    text: str = ""
    size: int = 0
    truncated: bool = False

    @property
    def is_shortened(self) -> bool:
        """Whether an envelope holds less than all of it."""
        return self.truncated or len(self.text) > MAX_EVIDENCE

    def shortened(self) -> JsonObject:
        """As much of it as an envelope holds, as its evidence says it."""
        text = head_and_tail(self.text, MAX_EVIDENCE)
        return {"text": text, "size": self.size, "truncated": self.is_shortened}


def evidence_text(envelope: Value, **shortened: JsonValue) -> str:
    """The evidence of a receipt: canonical JSON, with these members instead of its own."""
    return canonical_typed({**envelope.to_json(), **shortened}).decode()


def kept_by(envelope: Mapping[str, Any]) -> Iterator[str]:
    """The blobs in which an envelope keeps what it does not hold. It may be of any executor."""
    for member in _KEPT:
        value = envelope.get(member)
        for digest in value if isinstance(value, list) else [value]:
            if isinstance(digest, str) and _DIGEST.fullmatch(digest):
                yield digest


def fitted(facts: Mapping[str, Any], key: str, text: str) -> str:
    """Return the facts with the head and tail of a text, in MAX_CONTENT characters.

    Facts that are longer themselves are returned without the text.
    """
    kept = MAX_CONTENT
    while True:
        content = compact({**facts, key: head_and_tail(text, kept)})
        if len(content) <= MAX_CONTENT or not kept:
            return content
        kept = kept * 3 // 4  # escapes make JSON longer than its text


def with_results(facts: Mapping[str, Any], parsed: Parsed | None, key: str, text: str) -> str:
    """Return the facts with the results, if there are some that fit, else with their text."""
    if parsed is not None and parsed.fault is None:
        content = compact({**facts, "results": parsed.results})
        if len(content) <= MAX_CONTENT:
            return content
    return fitted(facts, key, text)


def bare(parsed: Parsed | None, text: str) -> str:
    """Return a success as a model reads it where the manifest wants no envelope."""
    whole = text if parsed is None else compact(parsed.results)
    return head_and_tail(whole, MAX_CONTENT - 100)


def answer_schema(
    statuses: Sequence[str],
    code: str,
    results: JsonObject | None,
    *,
    plain: bool,
    **more: JsonObject,
) -> JsonObject:
    """The JSON Schema of what a model reads, in every status.

    ``code`` names the status of the program's or the server's own. ``results`` is the manifest's
    schema of them, ``plain`` whether the output is plain text. Results that are too long give way
    to that text, so neither is always there.
    """
    properties: JsonObject = {
        "status": {"type": "string", "enum": [*statuses]},
        code: {"type": ["integer", "null"]},
        "fault": {"type": "string"},
        **more,
    }
    if not plain:
        properties["results"] = results or {}
    return {
        "type": "object",
        "properties": properties,
        "required": ["status", code],
        "additionalProperties": False,
    }


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def compact(value: Any) -> str:
    """JSON for reading. Not canonical: results may hold integers beyond 2**53, undigested."""
    return _ENCODER.encode(value).encode("utf-8", "replace").decode()
