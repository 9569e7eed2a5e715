"""``[http]``, read: each placeholder with the place where it stands, before any value is known.

A value is written in the way of its place: percent-encoded in a path or a query, escaped within a
JSON string. So it never leaves its place, whatever it holds (``docs/manifests.md``,
attacks 5 and 6).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from artificer.backends.http.spec.keys import HttpKeys, Method
from artificer.contracts.arguments.types import Argument
from artificer.manifests.keys import CALL_PLACES
from artificer.values.base import JsonValue, Value

TemplatePlace = Literal["raw", "percent", "string", "json"]
"""How a value is written: as it is, percent-encoded, inside a JSON string, as a JSON value."""

_BRACES = re.compile(r"\{_secret:(\w+)\}|\{(\w+)\}")
_URL = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?", re.DOTALL)
_URL_TEXT = re.compile(r"[A-Za-z0-9._~:/?@!$&'()*+,;=%\[\]-]*")
_AUTHORITY_TEXT = re.compile(r"[A-Za-z0-9.:\[\]-]*")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FIELD_TEXT = re.compile(r"[\x20-\x7e\t]*")
_HOST_TYPES = ("ip_address", "port", "scope_target")
_OURS = ("host", "content-length", "transfer-encoding", "connection", "idempotency-key")

FENCING_HEADER = "Fencing-Token"
"""Where the server of a fenced tool finds the fencing token, next to ``Idempotency-Key``."""

TRACE_HEADER = "traceparent"
"""Where the server of a tool with ``trace`` finds the call's span (W3C Trace Context)."""


class TemplatePart(Value):
    """A piece of a template: literal ``text``, an argument's value, or a secret."""

    text: str = ""
    argument: str | None = None
    secret: str | None = None
    place: TemplatePlace = "raw"


TemplateParts = tuple[TemplatePart, ...]


class HeaderTemplate(Value):
    """A header; it is left out when an argument in it has no value."""

    name: str
    value: TemplateParts


class HttpTemplate(Value):
    """A request with holes. ``whole`` names the argument that is the whole URL, if one is.

    ``query`` holds the pairs apart: one whose argument has no value is left out.
    """

    method: Method
    whole: str | None = None
    scheme: str = ""
    authority: TemplateParts = ()
    path: TemplateParts = ()
    query: tuple[TemplateParts, ...] = ()
    headers: tuple[HeaderTemplate, ...] = ()
    body: TemplateParts | None = None
    json_body: JsonValue = None
    success_status: tuple[int, ...] = ()
    error_status: tuple[int, ...] = ()
    allow_private: bool = False
    trace: bool = False

    @property
    def parts(self) -> TemplateParts:
        """Every piece, wherever it stands."""
        found = [*self.authority, *self.path, *(p for pair in self.query for p in pair)]
        found += [part for header in self.headers for part in header.value]
        found += self.body or ()
        if self.whole:
            found.append(TemplatePart(argument=self.whole))
        return (*found, *(p for text in _texts(self.json_body) for p in parse_parts(text)))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets, each once."""
        return tuple(dict.fromkeys(part.secret for part in self.parts if part.secret is not None))

    def succeeded(self, status: int) -> bool:
        """Whether a response's status is a success."""
        if self.success_status:
            return status in self.success_status
        return 200 <= status <= 299 and status not in self.error_status


class Misread(NamedTuple):
    """A fault in ``[http]``: the key, and why."""

    key: str
    message: str


def parse_parts(text: str, place: TemplatePlace = "raw") -> TemplateParts:
    """Split a text into its literals, its arguments and its secrets."""
    parts: list[TemplatePart] = []
    end = 0
    for match in _BRACES.finditer(text):
        if match.start() > end:
            parts.append(TemplatePart(text=text[end : match.start()], place=place))
        secret, argument = match.groups()
        parts.append(TemplatePart(secret=secret, argument=argument, place=place))
        end = match.end()
    if end < len(text):
        parts.append(TemplatePart(text=text[end:], place=place))
    return tuple(parts)


def sole_argument(text: str) -> str | None:
    """Return the argument that a text consists of; None if there is anything else in it.

    >>> sole_argument("{url}"), sole_argument("https://{host}/")
    ('url', None)
    """
    parts = parse_parts(text)
    return parts[0].argument if len(parts) == 1 else None


def read_template(
    keys: HttpKeys, arguments: Mapping[str, Argument]
) -> tuple[HttpTemplate | None, list[Misread]]:
    """Read ``[http]``, or say all that is wrong with it."""
    faults = [*_url_faults(keys, arguments), *_header_faults(keys), *_body_faults(keys)]
    if faults:
        return None, faults
    template = _read(keys)
    faults = [*_name_faults(template, arguments), *_secret_faults(template, arguments)]
    both = sorted({*keys.success_status} & {*keys.error_status})
    if both:
        faults.append(Misread("error_status", f"{both[0]} is also in success_status"))
    return (None if faults else template), faults


def _read(keys: HttpKeys) -> HttpTemplate:
    template = HttpTemplate(
        method=keys.method,
        whole=sole_argument(keys.url),
        headers=tuple(
            HeaderTemplate(name=k, value=parse_parts(v)) for k, v in keys.headers.items()
        ),
        body=None if keys.body_template is None else _body_parts(keys),
        json_body=keys.body,
        success_status=keys.success_status,
        error_status=keys.error_status,
        allow_private=keys.allow_private,
        trace=keys.trace,
    )
    match = _URL.fullmatch(keys.url)
    if template.whole or not match:
        return template
    scheme, authority, path, query, _ = match.groups()
    pairs = query.split("&") if query else []
    located = {
        "scheme": scheme,
        "authority": parse_parts(authority),
        "path": parse_parts(path or "/", "percent"),
        "query": tuple(parse_parts(pair, "percent") for pair in pairs),
    }
    return template.replace(**located)


# --- the body ---------------------------------------------------------------------------------


def body_type(keys: HttpKeys) -> str:
    """The media type of ``body_template``: that of the header, else JSON."""
    header = next((v for k, v in keys.headers.items() if k.lower() == "content-type"), "")
    return header.partition(";")[0].strip().lower() or "application/json"


def _body_parts(keys: HttpKeys) -> TemplateParts:
    text, kind = keys.body_template or "", body_type(keys)
    if kind == "application/x-www-form-urlencoded":
        return parse_parts(text, "percent")
    if not _is_json(kind):
        return parse_parts(text)
    parts: list[TemplatePart] = []
    inside = False
    for part in parse_parts(text):
        parts.append(part.replace(place="string" if inside else "json"))
        inside = _ends_inside_string(part.text, inside)
    return tuple(parts)


def _is_json(kind: str) -> bool:
    return kind == "application/json" or kind.endswith("+json")


def _ends_inside_string(text: str, inside: bool) -> bool:
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = inside
        elif character == '"':
            inside = not inside
    return inside


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


# --- faults -----------------------------------------------------------------------------------


def _url_faults(keys: HttpKeys, arguments: Mapping[str, Argument]) -> Iterator[Misread]:
    whole = sole_argument(keys.url)
    if whole:
        argument = arguments.get(whole)
        if argument and argument.type != "url":
            yield Misread("url", f"is all of {{{whole}}}, which must be of the type 'url'")
        elif argument and not {*argument.schemes} <= {"http", "https"}:
            yield Misread("url", f"{{{whole}}} must not allow other schemes than http and https")
        return
    match = _URL.fullmatch(keys.url)
    if not match:
        yield Misread("url", "must begin with http:// or https://, or be one argument")
        return
    _, authority, path, query, fragment = match.groups()
    if not authority or "@" in authority:
        yield Misread("url", "needs a host, and no user: put a credential into a header")
    if fragment:
        yield Misread("url", "must not have a fragment (#…): it is never sent")
    if not all(_AUTHORITY_TEXT.fullmatch(p.text) for p in parse_parts(authority)):
        yield Misread("url", "has no valid host")
    if not all(_URL_TEXT.fullmatch(p.text) for p in parse_parts(f"{path}?{query or ''}")):
        yield Misread("url", "holds characters that a URL must percent-encode")
    for part in parse_parts(authority):
        argument = arguments.get(part.argument or "")
        if part.secret:
            yield Misread("url", "must not have a secret in its host")
        elif argument and not (argument.type in _HOST_TYPES or argument.allowed):
            yield Misread(
                "url",
                f"{{{part.argument}}} is part of the host: it must be one of allowed values, or "
                f"of the type {', '.join(_HOST_TYPES)}",
            )


def _header_faults(keys: HttpKeys) -> Iterator[Misread]:
    seen: set[str] = set()
    for name, value in keys.headers.items():
        key = f"headers.{name}"
        if not _TOKEN.fullmatch(name):
            yield Misread(key, "is not a valid header name")
        elif name.lower() in _OURS or name.lower() in seen:
            why = "is written by Artificer" if name.lower() in _OURS else "is there twice"
            yield Misread(key, why)
        if not all(_FIELD_TEXT.fullmatch(p.text) for p in parse_parts(value)):
            yield Misread(key, "may hold printable ASCII only")
        seen.add(name.lower())


def _body_faults(keys: HttpKeys) -> Iterator[Misread]:
    key = "body" if keys.body is not None else "body_template"
    if keys.body is not None and keys.body_template is not None:
        yield Misread("body", "cannot be combined with body_template")
    elif keys.body is None and keys.body_template is None:
        return
    if keys.method in ("GET", "HEAD"):
        yield Misread(key, f"a {keys.method} request has no body")
    kind = body_type(keys)
    if keys.body is not None and not _is_json(kind):
        yield Misread("body", f"is JSON, but Content-Type says {kind}")
    if keys.body_template is None:
        return
    if _is_json(kind):
        sample = {"string": "x", "json": "1", "raw": "", "percent": ""}
        parts = _body_parts(keys)
        text = "".join(p.text or sample[p.place] for p in parts)
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            yield Misread("body_template", f"is not JSON, whatever the arguments are: {error}")
    elif kind not in ("application/x-www-form-urlencoded", "text/plain"):
        yield Misread("body_template", f"cannot be written safely as {kind}: use JSON or a form")


def _name_faults(template: HttpTemplate, arguments: Mapping[str, Argument]) -> Iterator[Misread]:
    used = {part.argument for part in template.parts if part.argument}
    for name in sorted(used - {*arguments, *CALL_PLACES}):
        yield Misread("url", f"{{{name}}} is not an argument")
    for name in (name for name in arguments if name not in used):
        yield Misread("url", f"the argument {name!r} is not used by the request")
    needed = {p.argument for p in (*template.authority, *template.path) if p.argument}
    needed |= {template.whole} if template.whole else set()
    for name in sorted(needed & {*arguments}):
        if not arguments[name].required and arguments[name].default is None:
            yield Misread("url", f"would have a hole when {{{name}}} is not given")


def _secret_faults(template: HttpTemplate, arguments: Mapping[str, Argument]) -> Iterator[Misread]:
    chosen = [n for p in template.authority if (n := p.argument) and n in arguments]
    free = [name for name in chosen if not arguments[name].allowed] if chosen else []
    if (template.whole or free) and any(part.secret for part in template.parts):
        yield Misread("url", "would send a secret to a host that an argument chooses")
