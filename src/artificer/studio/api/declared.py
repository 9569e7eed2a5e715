"""Declarations of endpoints: what each takes, answers and needs.

Requests are parsed, documented and tested from the same declaration.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from artificer.errors import ArtificerError, InvalidValueError, NotFoundError
from artificer.studio.access import Actor
from artificer.studio.context import StudioContext, actor_of, context_of
from artificer.studio.tokens import TokenScope
from artificer.values.faults import fault_of
from artificer.world import World

PREFIX = "/api/v1"

MAX_NAME = 200
"""Limit on the characters of a name in a path."""

HttpMethod = Literal["GET", "POST", "DELETE"]

PathName = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]

ShortName = Annotated[str, Meta(max_length=MAX_NAME)]

ShortText = Annotated[str, Meta(max_length=16_000)]

LongText = Annotated[str, Meta(min_length=1, max_length=500_000)]

DigestText = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$", max_length=71)]


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No fields."""


@dataclass(frozen=True)
class ApiRequest:
    """A request whose parts were checked: ``query`` and ``body`` are of the declared types."""

    http: Request
    context: StudioContext
    actor: Actor
    query: Any
    body: Any

    @property
    def world(self) -> World:
        """The world of the studio."""
        return self.context.world

    def named(self, name: str) -> str:
        """Return a name of the path. Raises NotFoundError for one that nothing has."""
        value: str = self.http.path_params[name]
        if len(value) > MAX_NAME or not value.isprintable():
            raise NotFoundError(f"There is no such {name}.")
        return value


EndpointWork = Callable[[ApiRequest], Awaitable[Struct | Response]]


@dataclass(frozen=True)
class ApiEndpoint:
    """One endpoint. The docstring of ``work`` describes it.

    ``answer`` is the type of the JSON, or the media types of a file or a stream. ``errors`` are
    those besides what every endpoint may answer.
    """

    method: HttpMethod
    path: str
    scope: TokenScope
    work: EndpointWork
    answer: type[Struct] | tuple[str, ...]
    query: type[Struct] = Nothing
    body: type[Struct] | None = None
    status: HTTPStatus = HTTPStatus.OK
    errors: tuple[type[ArtificerError], ...] = ()

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.work.__name__

    async def serve(self, request: Request) -> Response:
        """Answer a request. Raises ArtificerError."""
        actor = actor_of(request)
        actor.require(self.scope)
        query = _query(request, self.query)
        body = None if self.body is None else _body(await request.body(), self.body)
        found = await self.work(ApiRequest(request, context_of(request), actor, query, body))
        return found if isinstance(found, Response) else _json(found, self.status)


def _query(request: Request, kind: type[Struct]) -> Any:
    names = [name for name, _ in request.query_params.multi_items()]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValueError("The query", f"/{name[:MAX_NAME]}", "is there twice")
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidValueError("The query", *fault_of(error)) from error


def _body(data: bytes, kind: type[Struct]) -> Any:
    try:
        return msgspec.convert(_whole(msgspec.json.decode(data or b"{}")), kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidValueError("The body", *fault_of(error)) from error


def _whole(value: Any) -> Any:
    """Return a JSON value with integers for numbers such as 2.0, which are the same in JSON."""
    if isinstance(value, dict):
        return {name: _whole(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _json(value: Struct, status: HTTPStatus) -> Response:
    data = msgspec.json.encode(value, enc_hook=str)
    return Response(data, status, media_type="application/json")
