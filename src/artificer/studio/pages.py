"""Pages from templates, and what every page knows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from jinja2 import Environment, PackageLoader
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response

from artificer.render.template import escaping
from artificer.studio.access import Actor
from artificer.studio.assets import asset_root
from artificer.studio.inbox_count import InboxCount
from artificer.studio.indented import indented
from artificer.studio.words import WORDS, shown
from artificer.values.failure_words import FAILURES


def page(
    request: HTTPConnection, template: str, values: Mapping[str, Any], status: int = HTTPStatus.OK
) -> Response:
    """Return a page, or a part of one."""
    state = request.scope.get("state", {})
    actor: Actor | None = state.get("actor")  # None: not let in
    path, inbox = request.url.path, state.get("inbox", InboxCount())
    shared = {"actor": actor, "at": path, "place": _place(path), "inbox": inbox}
    return HTMLResponse(rendered(template, {**shared, **values}), status)


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """Return the text of a template that is filled in."""
    return _environment().get_template(f"{template}.html").render(**values)


def _place(path: str) -> str:
    """The page of the studio's navigation to which a path belongs."""
    return path if path in ("/inbox", "/search") else "/"


@cache
def _environment() -> Environment:
    environment = escaping(PackageLoader("artificer.studio"), shown)
    for word in (*WORDS, indented):
        environment.filters[word.__name__] = word
    environment.globals["failure_words"] = FAILURES
    environment.globals["assets"] = asset_root()
    return environment
