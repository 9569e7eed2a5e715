"""Classifying failures by status *and* message, because servers disagree about both."""

from __future__ import annotations

import json
import re

from artificer.values.model import FailureCode, ModelFailure, ModelReply
from artificer.values.text import clip

MAX_MESSAGE = 500
"""Characters of a provider's message that are kept."""

MAX_RAW = 65_536
"""Characters of a provider's error body that are kept."""

_CONTEXT_OVERFLOW = re.compile(
    r"context[ _](length|size|window)|exceeds? (the )?context|(prompt|input)( is)? too long"
    r"|(input|prompt) token count\b.*exceeds"
    r"|maximum (prompt|model|allowed input) length|longer than the maximum"
    r"|model token limit|tokens in request more than|reduce the length of the (messages|prompt)"
    r"|`max_(new_)?tokens` (must be <=|exceed)",
    re.IGNORECASE,
)
_INVALID_CALL = re.compile(r"\btool_use_failed\b")
"""Groq's code for a tool call that it could not parse, or that violates a schema."""

_TOO_MUCH_AT_ONCE = re.compile(r"rate[ _-]limit|per (min|day)|too many requests", re.IGNORECASE)
_REPLY_TOO_LONG = re.compile(
    r"supports at most \d+ (completion|output) tokens|maximum allowed number of output tokens"
    r"|max_?(output_?|completion_?)?tokens\b.{0,80}?(too large|valid range|supported range"
    r"|less than or equal to)",
    re.IGNORECASE,
)
_OF_CONTEXT = re.compile(r"context length|input (length|tokens)|prompt", re.IGNORECASE)
_BY_WORDS: tuple[tuple[re.Pattern[str], FailureCode], ...] = (
    (re.compile(r"overloaded|at capacity", re.IGNORECASE), "overloaded"),
    (re.compile(r"rate[ _]limit|too many requests|quota", re.IGNORECASE), "rate_limited"),
    (re.compile(r"does not match the expected", re.IGNORECASE), "malformed_response"),
    (re.compile(r"invalid_request", re.IGNORECASE), "bad_request"),
)
_SHORTEST_SECRET = 8
_SECRETS = re.compile(r"(?i)\b(bearer\s+|sk-)[\w*.-]{8,}")
_OVERFLOW_STATUSES = frozenset({None, 400, 413, 422, 500})
_BY_STATUS: dict[int, FailureCode] = {
    401: "auth",
    402: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "unavailable",
    413: "context_overflow",
    425: "unavailable",
    429: "rate_limited",
    504: "timeout",
    529: "overloaded",
}


def classify(status: int | None, message: str) -> FailureCode:
    """Return the failure's code; ``status`` is None for an error inside a stream.

    llama.cpp answers 500 when the model's output does not match its own grammar. That is a
    malformed response, and another attempt may help.
    """
    if _INVALID_CALL.search(message):
        return "invalid_call"
    too_long = status in (None, 400, 422) and _REPLY_TOO_LONG.search(message)
    if too_long and not _OF_CONTEXT.search(message):
        return "max_tokens"
    overflows = status in _OVERFLOW_STATUSES and _CONTEXT_OVERFLOW.search(message)
    if overflows and not _TOO_MUCH_AT_ONCE.search(message):
        return "context_overflow"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and 300 <= status < 500:
        return "bad_request"
    return next((code for words, code in _BY_WORDS if words.search(message)), "unavailable")


def failure(
    code: FailureCode, message: str, *, secret: str = "", body: object = None
) -> ModelFailure:
    """Return a failure with a short message and without keys.

    ``body`` is the server's response, text or parsed JSON. It is kept whole, without keys.
    """
    text = _keyless(message, secret)
    raw = None
    if body:
        whole = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)
        raw = clip(_keyless(whole, secret), MAX_RAW).encode()
    return ModelFailure(code=code, message=clip(" ".join(text.split()), MAX_MESSAGE), raw=raw)


def keyless(reply: ModelReply, secret: str) -> ModelReply:
    """Return the reply without a key that the server repeated in it."""
    if len(secret) < _SHORTEST_SECRET or secret.encode() not in (reply.raw or b""):
        return reply
    text = json.dumps(reply.replace(raw=None).to_json(), ensure_ascii=False).replace(
        secret, "[key]"
    )
    raw = (reply.raw or b"").decode("utf-8", "replace").replace(secret, "[key]").encode()
    return ModelReply.read(text).replace(raw=raw)


def keyless_failure(failed: ModelFailure, secret: str) -> ModelFailure:
    """Return the failure without a key that the server repeated in its stream."""
    raw = None if failed.raw is None else _keyless(failed.raw.decode(), secret).encode()
    return failed.replace(message=_keyless(failed.message, secret), raw=raw)


def _keyless(text: str, secret: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    if len(secret) >= _SHORTEST_SECRET:
        text = text.replace(secret, "[key]")
    return _SECRETS.sub(r"\1[key]", text)


def error_in(value: object) -> tuple[int | None, str] | None:
    """Return status and message of an error that a server sent in place of a reply.

    Accepts OpenAI's shape (``{"error": {"code", "message", "type"}}``), which llama.cpp uses on
    every path, Anthropic's, and a bare string.
    """
    if not isinstance(value, dict) or not value.get("error"):
        return None
    error = value["error"]
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if not isinstance(error, dict):
        return None, str(error)
    code = error.get("code")
    status = code if type(code) is int and 400 <= code < 600 else None
    members = ("type", "code", "message", "failed_generation")
    words = [str(error[key]) for key in members if error.get(key)]
    return status, ": ".join(words) or "the server reported an error without a message"
