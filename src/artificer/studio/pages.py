"""Pages from templates, and what every page knows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from artificer.errors import ArtificerError
from artificer.render.template import escaping
from artificer.studio.access import Actor
from artificer.studio.indented import indented
from artificer.studio.words import (
    ago,
    clock,
    day,
    dollars,
    exact,
    money,
    shown,
    stamp,
    status_word,
    thousands,
    time_of_day,
    visible,
)

_WORDS = (
    ago,
    clock,
    day,
    dollars,
    exact,
    indented,
    money,
    stamp,
    status_word,
    thousands,
    time_of_day,
    visible,
)
"""The filters of templates for times, numbers and texts."""

TITLES = {
    HTTPStatus.BAD_REQUEST: "This cannot be done",
    HTTPStatus.UNAUTHORIZED: "Locked",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "This cannot be done",
    HTTPStatus.CONFLICT: "Not now",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Too large",
    HTTPStatus.MISDIRECTED_REQUEST: "Wrong address",
    HTTPStatus.UNPROCESSABLE_ENTITY: "This cannot be done",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something is wrong",
    HTTPStatus.NOT_IMPLEMENTED: "Not installed",
}
"""Headings of the pages that say why something was not done."""


def page(
    request: Request, template: str, values: Mapping[str, Any], status: int = HTTPStatus.OK
) -> Response:
    """Return a page, or a part of one."""
    actor: Actor = request.state.actor
    path = request.url.path
    shared = {"actor": actor, "at": path, "place": _place(path)}
    text = _environment().get_template(f"{template}.html").render(**shared, **values)
    return HTMLResponse(text, status)


def problem_page(error: ArtificerError, status: HTTPStatus, actor: Actor | None = None) -> Response:
    """Return the page of an error; one for somebody unknown leads nowhere."""
    values = {"title": TITLES.get(status, status.phrase), "error": error, "status": int(status)}
    template = _environment().get_template("problem.html")
    return HTMLResponse(template.render(actor=actor, at="", place="", **values), status)


def _place(path: str) -> str:
    """The page of the studio's navigation to which a path belongs."""
    return path if path in ("/inbox", "/search") else "/"


@cache
def _environment() -> Environment:
    environment = escaping(PackageLoader("artificer.studio"), shown)
    for word in _WORDS:
        environment.filters[word.__name__] = word
    return environment
