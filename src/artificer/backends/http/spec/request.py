"""From ``[http]`` and checked values to a request: complete but for its secrets.

Secrets stay references until the moment of sending, and come from the manifest's text alone: what
a value holds is never read for placeholders.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from artificer.backends.http.spec.template import (
    HttpTemplate,
    TemplatePart,
    TemplateParts,
    TemplatePlace,
    parse_parts,
    sole_argument,
)
from artificer.contracts.addresses import climbs
from artificer.contracts.arguments.types import text_of
from artificer.values.base import JsonValue, Problem

MAX_URL = 8_000
"""Characters of a URL: what servers accept at the least (RFC 9110 section 4.1)."""

_HARMLESS = ("accept", "accept-language", "user-agent")
_FIELD = re.compile(r"[\x20-\x7e\t]*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class Secret:
    """A secret by its name, and the way in which it will be written."""

    name: str
    place: TemplatePlace


Piece = str | Secret


@dataclass(frozen=True)
class HttpRequest:
    """A request whose secrets are still names."""

    method: str
    url: tuple[Piece, ...]
    headers: tuple[tuple[str, tuple[Piece, ...]], ...] = ()
    body: tuple[Piece, ...] | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets it needs."""
        texts = [self.url, *(value for _, value in self.headers), self.body or ()]
        return tuple(sorted({p.name for text in texts for p in text if isinstance(p, Secret)}))

    @property
    def may_wander(self) -> bool:
        """Whether another origin may be asked instead: it would learn nothing, and do nothing."""
        plain = all(name.lower() in _HARMLESS for name, _ in self.headers)
        return plain and self.method in ("GET", "HEAD") and not self.secrets

    @property
    def line(self) -> str:
        """Method and URL, with each secret as ``{_secret:name}``: for people and for evidence."""
        return f"{self.method} {described(self.url)}"


@dataclass(frozen=True)
class BuiltRequest:
    """A request, or the problems for which there is none."""

    request: HttpRequest | None = None
    problems: tuple[Problem, ...] = ()


def described(pieces: Iterable[Piece]) -> str:
    """The text of pieces, with each secret as a reference."""
    return "".join(f"{{_secret:{p.name}}}" if isinstance(p, Secret) else p for p in pieces)


def resolved(pieces: Iterable[Piece], secrets: Mapping[str, str]) -> str:
    """The text of pieces with their secrets. Raises KeyError for one that is not given."""
    return "".join(
        written(secrets[p.name], p.place) if isinstance(p, Secret) else p for p in pieces
    )


def written(value: JsonValue, place: TemplatePlace) -> str:
    """A value in the way of its place, which it cannot leave."""
    if place == "json":
        return json.dumps(value, ensure_ascii=False)
    text = text_of(value)
    if place == "percent":
        return quote(text, safe="")
    return json.dumps(text, ensure_ascii=False)[1:-1] if place == "string" else text


def build_request(template: HttpTemplate, values: Mapping[str, JsonValue]) -> BuiltRequest:
    """Put bound values (``bind``) into a request."""
    builder = _Builder(values)
    request = HttpRequest(
        method=template.method,
        url=builder.url(template),
        headers=builder.headers(template),
        body=builder.body(template),
    )
    if len(described(request.url)) > MAX_URL:
        builder.problems.append(Problem(pointer="", message="the URL is too long", limit=MAX_URL))
    if builder.problems:
        return BuiltRequest(problems=tuple(builder.problems))
    return BuiltRequest(request)


@dataclass
class _Builder:
    values: Mapping[str, JsonValue]
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, name: str, reason: str) -> None:
        self.problems.append(Problem(pointer=f"/{name}", message=reason))

    def url(self, template: HttpTemplate) -> tuple[Piece, ...]:
        if template.whole:
            return (text_of(self.values[template.whole]).partition("#")[0],)
        pieces: list[Piece] = [f"{template.scheme}://"]
        pieces += [self._host_piece(part) for part in template.authority]
        pieces += self._pieces(template.path)
        self._check_path(template.path)
        pairs = [pair for pair in template.query if self._has_all(pair)]
        for index, pair in enumerate(pairs):
            pieces += ["&" if index else "?", *self._pieces(pair)]
        return tuple(pieces)

    def headers(self, template: HttpTemplate) -> tuple[tuple[str, tuple[Piece, ...]], ...]:
        found = []
        for header in template.headers:
            for part in header.value:
                value = self.values.get(part.argument or "")
                if value is not None and not _FIELD.fullmatch(text_of(value)):
                    self.refuse(part.argument or "", "may hold printable ASCII only, in a header")
            if self._has_all(header.value):
                found.append((header.name, tuple(self._pieces(header.value))))
        return tuple(found)

    def body(self, template: HttpTemplate) -> tuple[Piece, ...] | None:
        if template.body is not None:
            return tuple(self._pieces(template.body))
        if template.json_body is not None:
            return tuple(self._json(template.json_body))
        return None

    def _host_piece(self, part: TemplatePart) -> str:
        if part.argument is None:
            return part.text
        text = text_of(self.values[part.argument])
        if ":" in text and _is_ipv6(text):
            return f"[{text}]"
        if not _HOST.fullmatch(text):
            self.refuse(part.argument, "cannot be part of a host")
        return text

    def _check_path(self, parts: TemplateParts) -> None:
        """Refuse values that vanish, or that a server could decode to ``.`` or ``..``."""
        segment = ""
        names: list[str] = []
        for part in (*parts, TemplatePart(text="/")):
            if part.argument is None:
                before, *rest = ("x" if part.secret else part.text).split("/")
                segment += before
                if rest and names and climbs(segment):
                    self.refuse(names[-1], "must not make a path segment '.' or '..', also encoded")
                if rest:
                    segment, names = rest[-1], []
                continue
            text = text_of(self.values[part.argument])
            if not text:
                self.refuse(part.argument, "must not be empty")
            segment += quote(text, safe="")
            names.append(part.argument)

    def _has_all(self, parts: TemplateParts) -> bool:
        return all(p.argument is None or p.argument in self.values for p in parts)

    def _pieces(self, parts: TemplateParts) -> Iterator[Piece]:
        for part in parts:
            if part.secret is not None:
                yield Secret(part.secret, part.place)
            elif part.argument is None:
                yield part.text
            else:
                missing = None if part.place == "json" else ""
                yield written(self.values.get(part.argument, missing), part.place)

    def _json(self, value: JsonValue) -> Iterator[Piece]:
        """A JSON body: ``"{x}"`` alone becomes the value itself; without one it is left out."""
        if isinstance(value, dict):
            yield "{"
            members = [(k, v) for k, v in value.items() if not self._is_left_out(v)]
            for index, (name, member) in enumerate(members):
                yield f"{',' if index else ''}{json.dumps(name, ensure_ascii=False)}:"
                yield from self._json(member)
            yield "}"
        elif isinstance(value, list):
            yield "["
            for index, item in enumerate(i for i in value if not self._is_left_out(i)):
                yield "," if index else ""
                yield from self._json(item)
            yield "]"
        elif not isinstance(value, str):
            yield json.dumps(value)
        elif (sole := sole_argument(value)) is not None:
            yield written(self.values[sole], "json")
        else:
            yield '"'
            for part in parse_parts(value, "string"):
                if part.text:  # of a TOML string: not JSON yet, other than in body_template
                    yield written(part.text, "string")
                else:
                    yield from self._pieces((part,))
            yield '"'

    def _is_left_out(self, value: JsonValue) -> bool:
        name = sole_argument(value) if isinstance(value, str) else None
        return name is not None and name not in self.values


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text
